"""Profiles on disk."""

import contextlib
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from estimator.profiles.parts import Alpha, DraftAcceptance, Estimate, Setup
from estimator.profiles.profile import Improvement, Profile, TimesMs
from estimator.profiles.profile_file import profile_json, read_profile, write_profile
from estimator.writing import builtins

PROFILE = Profile(
    alpha=Alpha(0.7, 0.65, 0.75, 0.95, tokens=512, prompts=8),
    draft_sampling="sampled",
    draftings={
        "sampled": DraftAcceptance(
            Alpha(0.7), {1: (0.0, 0.6), 2: (0.0, 0.1, 0.4)}, alpha_by_lenience={1.0: 0.7, 0.5: 0.8}
        ),
        "argmax": DraftAcceptance(Alpha(0.5), {1: (0.0, 0.7)}),
    },
    setup=Setup(target="big", draft="small", revision={"target": None}),
    times=TimesMs({1: 10.0, 2: 11.0}, 1.0, {1: 0.8}, overhead_ms=0.5, baseline_overhead_ms=0.25),
    c_hat=0.2,
    improvement_factor={1: Improvement(1.2, 1.3, 1.1, 1.3)},
)


def test_a_profile_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_profile(PROFILE, path)
    profile = read_profile(path)
    assert profile == PROFILE
    assert profile.cost is not None
    assert profile.cost.c == pytest.approx(0.1)
    assert profile.cost.verify_seconds(2) == pytest.approx(0.011)
    assert profile.cost.drafting_seconds(2) == pytest.approx(0.0018)
    assert profile.cost.baseline_seconds == pytest.approx(0.01025)
    assert profile.drafting().acceptance.tokens_per_call(2) == pytest.approx(2)
    assert profile.drafting("argmax").acceptance.alpha == 0.5


def test_a_profile_of_counts_alone_has_no_costs_and_is_planned_by_position(tmp_path: Path) -> None:
    rates = (Estimate(0.7, 0.6, 0.8), Estimate(0.5))
    drafting = DraftAcceptance(Alpha(0.7), accepted_by_position=rates)
    profile = replace(PROFILE, draftings={"sampled": drafting}, times=None)
    write_profile(profile, tmp_path / "p.json")
    read = read_profile(tmp_path / "p.json")
    assert read.cost is None
    assert read.drafting().acceptance.tokens_per_call([1, 2]) == pytest.approx([1.7, 2.2])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "must be JSON"),
        ("[]", "written by 'specplan measure'"),
        ('{"alpha": 1}', "written by 'specplan measure'"),
        ('{"schema": "specplan-profile", "version": 1}', "must have version 2, got 1"),
        ('{"schema": "specplan-profile", "version": 2}', "missing required field `alpha`"),
    ],
)
def test_files_that_are_no_profile_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_profile(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"draft_ms": "x"}, r"Expected `float`, got `str` - at `\$.draft_ms`"),
        ({"draft_ms": True}, "got `bool`"),
        ({"draft_ms": None}, r"Expected `float`, got `null` - at `\$.draft_ms`"),
        ({"alpha": {"value": 1.5}}, r"`float` <= 1.0 - at `\$.alpha.value`"),
        ({"optimal_gamma": -7}, r"`int` >= 0 - at `\$.optimal_gamma`"),
        ({"target_ms": {"2": 10.0}}, "target_seconds must have the point 1"),
        ({"target_ms": {"1": 0.0}}, "`float` > 0.0"),
        ({"draft_sampling": "argmax", "draftings": {"sampled": {"alpha": {"value": 0.5},
          "blocks": {"1": [0.0, 0.7]}}}}, "must hold drafts that are argmax, got sampled"),
        ({"draftings": {"sampled": {"alpha": {"value": 0.5}}}}, "must hold blocks or accepted"),
        ({"draftings": {"sampled": {"alpha": {"value": 0.5}, "blocks": {"2": [0.1, 0.2, 0.3]}}}},
         "blocks must have every gamma from 1 on"),
    ],
)  # fmt: skip
def test_fields_that_do_not_fit_are_named(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(builtins(profile_json(PROFILE)) | changes))
    with pytest.raises(ValueError, match=message):
        read_profile(path)


def test_every_flipped_byte_gives_a_profile_or_a_value_error(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_profile(PROFILE, path)
    whole = path.read_bytes()
    generator = np.random.default_rng(7)
    for position in generator.integers(0, len(whole), 500).tolist():
        damaged = bytearray(whole)
        damaged[position] ^= int(generator.integers(1, 256))
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(ValueError):
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
        write_profile(PROFILE, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["p.json"]
