"""Profiles on disk."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from estimator.profiles.profile import read_profile, write_profile

DATA: dict[str, Any] = {
    "alpha": {"value": 0.7},
    "alpha_by_lenience": {"1.0": 0.7, "0.5": 0.8},
    "target_ms": {"1": 10.0, "2": 11.0},
    "draft_ms": 1.0,
    "overhead_ms": 0.5,
    "baseline_overhead_ms": 0.25,
    "c_hat": 0.2,
}


def test_a_profile_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_profile(DATA, path)
    profile = read_profile(path)
    assert profile.alpha == 0.7
    assert profile.alpha_by_lenience == {1.0: 0.7, 0.5: 0.8}
    assert profile.cost.c == pytest.approx(0.1)
    assert profile.cost.verify_seconds(2) == pytest.approx(0.011)
    assert profile.cost.baseline_seconds == pytest.approx(0.01025)
    assert profile.c_hat == 0.2
    assert profile.data["draft_ms"] == 1.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "must be JSON"),
        ("[]", "written by 'specplan measure'"),
        ('{"alpha": 1}', "written by 'specplan measure'"),
        ('{"schema": "specplan-profile", "version": 2}', "must have version 1, got 2"),
        ('{"schema": "specplan-profile", "version": 1}', "must have the key alpha, got none"),
    ],
)
def test_what_is_no_profile_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_profile(path)


@pytest.mark.parametrize("value", ["x", None, True, float("nan")])
def test_numbers_must_be_numbers(tmp_path: Path, value: object) -> None:
    path = tmp_path / "p.json"
    data = {"schema": "specplan-profile", "version": 1, **DATA, "draft_ms": value}
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match="numbers must be finite"):
        read_profile(path)


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.json"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write_profile(DATA, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["p.json"]
