"""The one training loop: it learns, and it resumes as if it had never stopped."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from reference.training.loop import Schedule, Trained, Training, muon_and_adamw, train


class KilledError(Exception):
    """Stands for a kill between two steps."""


class Task:
    """Learns y = Wx with dropout, so that every step draws at random, too."""

    def __init__(self, folder: Path) -> None:
        torch.manual_seed(1)
        self.module = nn.Sequential(nn.Embedding(8, 6), nn.Dropout(0.2), nn.Linear(6, 4))
        self.wanted = torch.randn(8, 4)
        self.checkpoint = folder / "task.safetensors"
        self.seen: list[list[int]] = []

    def batch(self, step: int) -> Tensor:
        generator = torch.Generator().manual_seed(step)
        return torch.randint(8, (5,), generator=generator)

    def run(self, steps: int, *, killed_at: int | None = None, seed: int = 3) -> Trained:
        def loss(batch: Tensor, step: int) -> Tensor:
            if step == killed_at:
                raise KilledError
            self.seen.append(batch.tolist())
            return (self.module(batch) - self.wanted[batch]).square().mean()

        schedule, optimizers = Schedule(steps, 0.05, warmup=2), muon_and_adamw(self.module)
        training = Training("task", schedule, self.checkpoint, seed, checkpoint_steps=4)
        return train(self.module, training, batch=self.batch, loss=loss, optimizers=optimizers)

    def weights(self) -> dict[str, Tensor]:
        return self.module.state_dict()


def test_training_lowers_the_loss_and_ends_in_evaluation_mode(tmp_path: Path) -> None:
    task = Task(tmp_path)
    before = (task.module.eval()(torch.arange(8)) - task.wanted).square().mean()
    trained = task.run(60)
    after = (task.module(torch.arange(8)) - task.wanted).square().mean()
    assert after < 0.5 * before
    assert not task.module.training
    assert (trained.resumed, trained.steps) == (0, 60)


@pytest.mark.parametrize("killed_at", [0, 3, 4, 5, 11])
def test_a_killed_training_ends_with_the_same_weights(tmp_path: Path, killed_at: int) -> None:
    whole = Task(tmp_path / "whole")
    whole.checkpoint.parent.mkdir()
    whole.run(12)

    (tmp_path / "killed").mkdir()
    first = Task(tmp_path / "killed")
    with pytest.raises(KilledError):
        first.run(12, killed_at=killed_at)
    resumed = Task(tmp_path / "killed")  # a new process knows only the checkpoint
    trained = resumed.run(12)

    assert trained.resumed == killed_at // 4 * 4
    assert resumed.seen == whole.seen[trained.resumed :]
    for name, weight in whole.weights().items():
        assert torch.equal(resumed.weights()[name], weight), name


def test_a_finished_training_is_not_run_again(tmp_path: Path) -> None:
    Task(tmp_path).run(4)
    again = Task(tmp_path)
    trained = again.run(4)
    assert (trained.resumed, trained.steps, trained.loss) == (4, 0, None)
    assert again.seen == []


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    Task(tmp_path).run(4)
    with pytest.raises(ValueError, match="must be of this training") as refused:
        Task(tmp_path).run(8)
    assert '"steps": 8' in str(refused.value)
    assert '"steps": 4' in str(refused.value)


def test_a_file_of_another_kind_is_no_checkpoint(tmp_path: Path) -> None:
    task = Task(tmp_path)
    save_file({"step": torch.tensor(4)}, task.checkpoint)
    with pytest.raises(ValueError, match=r"of this training.* got a file of another kind"):
        task.run(4)


def test_a_loss_that_is_not_a_number_stops_the_training(tmp_path: Path) -> None:
    task = Task(tmp_path)
    task.run(4)
    task.wanted[:] = torch.nan
    other = Task(tmp_path)
    other.wanted[:] = torch.nan
    other.checkpoint = tmp_path / "other.safetensors"
    with pytest.raises(FloatingPointError, match="the loss of task became nan at step 0"):
        other.run(4)
    assert not other.checkpoint.exists()


def test_a_batch_that_processes_cannot_share_equally_stops_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = SimpleNamespace(num_processes=2, process_index=0, is_main_process=True)
    monkeypatch.setattr("reference.training.loop.this_process", lambda: two)
    task = Task(tmp_path)  # of batches of 5
    with pytest.raises(ValueError, match="as many rows for each of 2 processes, got 5"):
        task.run(4)
    assert task.seen == []


def test_parameters_that_are_not_trained_stay_out_of_the_checkpoint(tmp_path: Path) -> None:
    task = Task(tmp_path)
    weight = task.module.get_parameter("0.weight")
    task.module[0].requires_grad_(False)
    before = weight.clone()
    task.run(4)
    assert torch.equal(weight, before)
    saved = {name for name in load_file(task.checkpoint) if name.startswith("model.")}
    assert saved == {"model.2.weight", "model.2.bias"}


def test_the_rate_rises_stays_and_falls_to_nearly_nothing() -> None:
    schedule = Schedule(100, 2.0, warmup=10, decay=0.5)
    assert schedule.rate(0) == 0.2
    assert schedule.rate(9) == schedule.rate(50) == 2.0
    assert schedule.rate(75) == 1.0
    assert schedule.rate(99) == pytest.approx(0.04)
    assert Schedule(100, 2.0, warmup=10, decay=0.0).rate(99) == 2.0


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"steps": -1, "peak": 1.0}, "steps must be at least 0, got -1"),
        ({"steps": 1, "peak": 0.0}, "peak must be finite and above 0, got 0.0"),
        ({"steps": 1, "peak": float("nan")}, "peak must be finite and above 0, got nan"),
        ({"steps": 1, "peak": 1.0, "warmup": 0}, "warmup must be at least 1, got 0"),
        ({"steps": 1, "peak": 1.0, "decay": 1.5}, r"decay must lie in \[0, 1\], got 1.5"),
    ],
)
def test_a_schedule_refuses_impossible_settings(setting: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Schedule(**setting)
