"""Planning, observing and simulating need no torch, transformers, kenlm or accelerate."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.metrics_pages import vllm_page

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "docs" / "configs"
PAIR = (
    f"--target-config {CONFIGS}/llama-3.1-8b.json --draft-config "
    f"{CONFIGS}/llama-3.1-8b-eagle3.json --gpu h100 --alpha 0.7"
)
# Targets with their heads, of families with experts, windows, MXFP4, FP8 and further layers.
COUNTED = [
    f"{target}.json --draft-config {CONFIGS}/{draft}.json"
    for target, draft in (
        ("gpt-oss-120b", "gpt-oss-120b-eagle3"),
        ("llama-4-scout", "llama-4-scout-eagle3"),
        ("glm-4.5-air", "glm-4.5-air"),
        ("deepseek-v3", "deepseek-v3"),
        ("qwen3-32b", "qwen3-32b-eagle3"),
    )
]
PROGRAM = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "kenlm", "accelerate"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from specplan.main import main

for words in sys.argv[1].splitlines():
    print("::", words)
    try:
        main(words.split())
    except SystemExit as ended:
        print("exit", ended.code)
    sys.stdout.flush()
"""


def statuses(commands: list[str], folder: Path) -> dict[str, tuple[int, str]]:
    """Returns the exit status of commands and their last line, in one process without torch."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, "\n".join(commands)],
        capture_output=True, text=True, cwd=folder, env={"PYTHONPATH": str(ROOT), "PATH": "/bin"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    parts = ran.stdout.split(":: ")[1:]
    return {
        part.partition("\n")[0]: (int(part.rpartition("exit ")[2]), ran.stderr) for part in parts
    }


def test_commands_that_run_no_model_need_no_torch(tmp_path: Path) -> None:
    (tmp_path / "page.txt").write_text(vllm_page(1000, (700, 400)))
    example = ROOT / "docs" / "examples" / "embedded.json"
    commands = [
        "plan --alpha 0.8 --c 0.05",
        "plan --run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,length=2.85",
        f"plan {PAIR} --batch 1,16 --export vllm",
        *(
            f"plan --target-config {CONFIGS}/{pair} --gpu h200 --tp 8 --alpha 0.7"
            for pair in COUNTED
        ),
        f"plan --profile {example}",
        "observe page.txt --c 0.05 -o observed.json",
        "plan --profile observed.json --c 0.05",
        f"traffic {PAIR} --rate 1 --prompt-tokens 500 --output-tokens 100",
        "tree --acceptance-by-rank 0.7,0.12 --c 0.05 --max-nodes 8",
        f"report {example} -o report.html",
        "figures leviathan-fig3 -o drawn --format csv",
        "figures list",
    ]
    found = statuses(commands, tmp_path)
    assert {words: status for words, (status, _) in found.items()} == dict.fromkeys(commands, 0)


@pytest.mark.parametrize("command", ["measure", "validate", "generate --prompt a"])
def test_a_command_that_runs_models_names_the_package_to_install(
    command: str, tmp_path: Path
) -> None:
    [(status, stderr)] = statuses([command], tmp_path).values()
    assert status == 1
    assert len(stderr.splitlines()) == 1
    assert "Error: needs t" in stderr
    assert "pip install" in stderr


def test_an_uncounted_configuration_names_the_package_to_install(tmp_path: Path) -> None:
    config = (CONFIGS / "llama-3.1-8b.json").read_text()
    (tmp_path / "other.json").write_text(
        config.replace('"model_type": "llama"', '"model_type": "seed_oss"')
    )
    words = f"plan {PAIR}".replace(f"{CONFIGS}/llama-3.1-8b.json", "other.json")
    [(status, stderr)] = statuses([words], tmp_path).values()
    assert status == 1
    assert len(stderr.splitlines()) == 1
    assert "Error: needs transformers: run pip install -e '.[models]' in" in stderr
