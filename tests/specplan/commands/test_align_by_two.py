"""`specplan align` in two processes, as launchers start them, ends as in one.

This file is also a program, which imports once and forks both processes.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from safetensors.torch import load_file
from torch import testing

from tests.reference.ranks import forked_ranks
from tests.specplan.programs import Run

ROOT = Path(__file__).parents[3]
ALIGN = (
    *("align", "--target", "target", "--draft", "draft", "--prompts", "prompts.txt"),
    *("--num-prompts", "4", "--max-new-tokens", "6", "--held-out", "2", "--steps", "6"),
    *("--batch", "4", "--loss", "tv", "--device", "cpu"),
)


def test_two_processes_align_as_one_does(run: Run, folders: Path, tmp_path: Path) -> None:
    alone = run(*ALIGN, "-o", str(tmp_path / "alone"))
    assert alone.exit_code == 0, alone.output
    paths = [ROOT, ROOT / "tests" / "specplan", ROOT / "tests" / "reference"]
    launched = subprocess.run(
        [sys.executable, __file__, str(tmp_path / "two")],
        cwd=folders,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "HF_HUB_OFFLINE": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": "1",
        },
    )
    assert launched.returncode == 0, launched.stderr
    result = json.loads(launched.stdout)  # of the main process alone
    assert (result["resumed_at_step"], result["steps"]) == (0, 6)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "two"]
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("alone", "two"))
    untrained = load_file(folders / "draft" / "model.safetensors")
    moved = 0.0
    for name, weight in first.items():
        # The mean of two halves' gradients is the whole's, up to the rounding of sums.
        testing.assert_close(second[name], weight, rtol=1e-3, atol=1e-5)
        moved = max(moved, float((weight - untrained[name]).abs().max()))
    assert moved > 1e-4


def align(output: str) -> None:
    from specplan.main import main

    main([*ALIGN, "--json", "-o", output])


if __name__ == "__main__":
    # Imported here once for both.
    import accelerate  # noqa: F401
    from transformers import LlamaForCausalLM  # noqa: F401

    import studies.bild.alignment  # noqa: F401

    sys.exit(max(map(abs, forked_ranks(lambda: align(sys.argv[1])))))
