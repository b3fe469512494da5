"""Progress of long jobs, and the message for a user who interrupts a measurement."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import pytest
from click.testing import CliRunner

from engines.tuning.search import Search
from estimator.model_shapes import counting
from estimator.progress import current_stage, stage
from specplan.main import main
from specplan.reports import bar, output
from specplan.reports.bar import Kept


def test_a_job_without_a_terminal_tells_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter((0.0, 10.0, 31.0, 40.0, 70.0))
    monkeypatch.setattr("specplan.reports.bar.time.monotonic", lambda: next(clock))
    with bar.Bar("validate", "run") as shown:
        shown.expect(4)
        for _ in range(4):
            shown.step()
    assert capsys.readouterr().err.splitlines() == [
        "validate: 2 of 4 runs, 31 s", "validate: 4 of 4 runs, 70 s",
    ]  # fmt: skip


def interrupted(path: Path | None, finished: int) -> None:
    with Kept(path).summarised() as kept:
        kept.expect(8)
        for _ in range(finished):
            kept.step()
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (Path("p.json"), "Saved with p.json: the traces of 3 of 8 prompts, no times. The same "
         "command goes on from there."),
        (None, "Nothing is kept: with -o FILE the traces of finished prompts would be."),
    ],
)  # fmt: skip
def test_ctrl_c_names_the_kept_file(
    path: Path | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(path, 3)
    printed = capsys.readouterr().err
    assert " ".join(printed.split()) == message
    assert max(map(len, printed.splitlines())) <= 80


def test_a_run_that_ends_or_fails_otherwise_says_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Kept(None).summarised():
        pass
    with pytest.raises(ValueError, match="bad"), Kept(None).summarised():
        raise ValueError("bad")
    assert capsys.readouterr().err == ""


def test_work_that_lasts_is_named_once_until_a_bar_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: SimpleQueue[str] = SimpleQueue()
    monkeypatch.setattr(output, "STAGE_SECONDS", (1e-3, 1e-3))
    monkeypatch.setattr("specplan.reports.output.click.echo", lambda line, err: lines.put(line))
    with output.announced("plan"):
        assert lines.get(timeout=60) == "plan: computing speed-ups by draft length and load …"
        with stage("counting"):
            assert lines.get(timeout=60) == "plan: counting …"
        with bar.Bar("plan", "run") as shown:
            assert current_stage() == output.WORK["plan"]
            shown.expect(1)
            assert current_stage() == ""
        assert current_stage() == output.WORK["plan"]
    assert current_stage() == ""
    assert lines.empty()


def test_each_command_names_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = []

    @contextmanager
    def announced(command: str) -> Iterator[None]:
        commands.append(command)
        yield

    monkeypatch.setattr("specplan.options.command.announced", announced)
    CliRunner().invoke(main, ["plan", "--alpha", "0.8", "--c", "0.05"])
    assert commands == ["plan"]


def test_a_dry_run_of_tune_names_no_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = []
    monkeypatch.setattr(Search, "expected", lambda _: stages.append(current_stage()))
    CliRunner().invoke(main, ["tune", "--dry-run"])
    assert stages == ["predicting the runs"]


def test_a_configuration_that_is_counted_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError(current_stage())

    monkeypatch.setattr(counting, "decoder_config", refuse)
    with pytest.raises(ValueError, match="counting the weights of a llama model"):
        counting.count({"model_type": "llama", "hidden_size": 24})
