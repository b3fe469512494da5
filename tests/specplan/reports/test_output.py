"""The output of commands."""

import json
import os
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from estimator.writing import json_text
from specplan.options.declared import Option
from specplan.reports.output import print_json, warn, writable


@click.command()
@click.option("--output", "-o", cls=Option, type=click.Path(path_type=Path), callback=writable)
def _writer(output: Path | None) -> None:
    click.echo(f"would write {output}")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.array([1.0, np.nan]), [1.0, None]),
        (float("inf"), None),
        (-float("inf"), None),
        ((1, 2.5), [1, 2.5]),
        ({1: {"a": None}}, {"1": {"a": None}}),
        (Path("a") / "b", str(Path("a") / "b")),
        ("α", "α"),
        (True, True),
    ],
)
def test_values_that_json_lacks_become_plain_or_null(value: object, expected: object) -> None:
    [found] = json.loads(json_text({"a": value})).values()
    assert found == expected
    assert type(found) is type(expected)


def test_values_without_a_json_form_are_an_error() -> None:
    with pytest.raises(TypeError, match="cannot write object as JSON"):
        json_text({"a": object()})


def test_print_json_writes_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"alpha": np.float64("nan"), "rows": [{"γ": 1}]})
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"alpha": None, "rows": [{"γ": 1}]}
    assert captured.err == ""


def test_an_output_path_passes_untouched(tmp_path: Path) -> None:
    path, link = tmp_path / "profile.json", tmp_path / "link"
    path.write_text("earlier", encoding="utf-8")
    link.symlink_to("a.json")
    for given in (path, link, Path(os.devnull)):
        result = CliRunner().invoke(_writer, ["-o", str(given)])
        assert result.output == f"would write {given}\n"
    assert path.read_text(encoding="utf-8") == "earlier"
    assert CliRunner().invoke(_writer, []).output == "would write None\n"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing/profile.json", "does not exist"),
        (".", "is a folder"),
        ("astray", "folder {}/none does not exist"),  # a link
        ("locked.json", "is not writable"),
    ],
)
def test_an_output_path_that_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str
) -> None:
    (tmp_path / "astray").symlink_to("none/a.json")
    if path == "locked.json":  # the tests may run as root
        monkeypatch.setattr("os.access", lambda *_: False)
    result = CliRunner().invoke(_writer, ["-o", str(tmp_path / path)])
    assert result.exit_code == 2
    assert message.format(tmp_path) in result.stderr


def test_warnings_fit_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    warn("words " * 40 + "/a/path/" + "long" * 30)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Warning: words")
    assert all(line.startswith("  ") for line in lines[1:])
    assert [line for line in lines if len(line) > 80] == [f"  /a/path/{'long' * 30}"]
