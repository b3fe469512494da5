"""Progress of long jobs, and the message for a user who interrupts a measurement."""

from pathlib import Path

import pytest

from specplan.reports import bar
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
def test_ctrl_c_says_what_is_kept(
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
