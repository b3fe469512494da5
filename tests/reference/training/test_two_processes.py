"""Two processes train as one would: on this machine, over gloo.

A launcher starts such processes in tests/specplan/test_many_processes.py.
"""

import os
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from reference.training.loop import Schedule, Trained, Training, this_process, train
from tests.reference.ranks import forked_ranks

STEPS = 8
ROOT = Path(__file__).parents[3]


class KilledError(Exception):
    """Stands for a kill between two steps."""


def learned(folder: Path, *, killed_at: int | None = None) -> tuple[nn.Module, Trained]:
    """Returns a module that was trained, from the folder's checkpoint on."""
    torch.manual_seed(1)
    module = nn.Linear(4, 3)
    wanted = torch.randn(16, 3)
    given = torch.randn(16, 4)

    def loss(rows: Tensor, step: int) -> Tensor:
        if step == killed_at:
            raise KilledError
        return (module(given[rows]) - wanted[rows]).square().mean()

    path, schedule = folder / "task.safetensors", Schedule(STEPS, 0.05, warmup=2)
    trained = train(
        module,
        Training("task", schedule, path, checkpoint_steps=2),
        batch=lambda step: (torch.arange(8) * 5 + step) % 16,
        loss=loss,
        optimizers=[torch.optim.AdamW(module.parameters())],
    )
    return module, trained


def test_two_processes_train_as_one_does_though_they_were_killed(tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    alone, _ = learned(tmp_path / "alone")
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "reference")))
    launched = subprocess.run(
        [sys.executable, __file__, str(tmp_path)], capture_output=True, text=True, timeout=120,
        check=False, env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert launched.returncode == 0, launched.stderr
    first, second = (load_file(tmp_path / f"{rank}.safetensors") for rank in range(2))
    for name, weight in alone.state_dict().items():
        assert torch.equal(first[name], second[name])
        # The mean of two halves' gradients is the whole's, up to the rounding of sums.
        torch.testing.assert_close(first[name], weight, rtol=1e-4, atol=1e-5)


def main(folder: Path) -> None:
    """Each launched process is killed, starts again, and continues."""
    process = this_process()
    assert process.num_processes == 2
    try:
        learned(folder, killed_at=5)
    except KilledError:
        process.wait_for_everyone()
    module, trained = learned(folder)
    assert (trained.resumed, trained.steps) == (4, 4)
    save_file(module.state_dict(), folder / f"{process.process_index}.safetensors")
    process.wait_for_everyone()
    process.destroy_process_group()


if __name__ == "__main__":
    # Imported here once for both.
    import accelerate  # noqa: F401
    import torch._dynamo
    import torch.distributed.fsdp

    if forked_ranks(lambda: main(Path(sys.argv[1]))) != [0, 0]:
        sys.exit(1)
