"""Progress of long jobs."""

import pytest

from specplan.reports import bar


def test_a_job_without_a_terminal_tells_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter((0.0, 10.0, 31.0, 40.0, 70.0))
    monkeypatch.setattr(bar.time, "monotonic", lambda: next(clock))
    with bar.Bar("validate", "run") as shown:
        shown.expect(4)
        for _ in range(4):
            shown.step()
    assert capsys.readouterr().err.splitlines() == [
        "validate: 2 of 4 runs, 31 s", "validate: 4 of 4 runs, 70 s",
    ]  # fmt: skip
