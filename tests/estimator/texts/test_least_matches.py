"""Least lengths of a lookup's match: counted with the texts, and planned as thresholds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimator.profiles.p_min import Thresholds, matched, recorded_traces
from estimator.profiles.profile import Profile
from estimator.profiles.profile_file import read_profile
from estimator.prompts import logs
from estimator.requests import MeasureTexts
from estimator.texts.counting import MOST_TRIED, least_matches
from estimator.texts.measure import measure
from estimator.traces.trace_file import traces_path
from simulator.cost.curves import CostModel

GAMMA = 4
COST = CostModel({1: 1.0, 2: 1.3, 5: 2.2}, draft_seconds=0.01)
Pairs = list[tuple[list[int], list[int]]]


def pairs() -> Pairs:
    generator = np.random.default_rng(3)
    lengths = generator.integers(1, 40, size=(12, 2))
    return [tuple(generator.integers(3, size=n).tolist() for n in length) for length in lengths]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    lines = (json.dumps({"prompt": prompt, "output": output}) for prompt, output in pairs())
    path.write_text("\n".join(lines))
    return path


def measured(log: Path, draft: str, **given: Any) -> Path:
    output = log.with_name(f"{draft.replace(':', '-')}.json")
    settings = {"max_gamma": GAMMA, "processes": 1} | given
    measure(MeasureTexts(texts=log, drafts=(draft,), output=output, **settings))
    return output


def thresholds(path: Path, stated: str = "auto") -> tuple[Profile, Thresholds]:
    profile = read_profile(path)
    found = matched(path, profile, stated)
    assert found is not None
    return profile, found


def drafted(text: Sequence[int], least: int, longest: int) -> list[int]:
    """Returns the draft of `lookup:N` after a text, by its definition; [] for shorter matches."""
    for length in range(min(longest, len(text) - 1), least - 1, -1):
        for end in range(len(text) - 1, length - 1, -1):
            if text[end - length : end] == text[-length:]:
                return [text[end + at % (len(text) - end)] for at in range(GAMMA)]
    return []


def walked(least: int, longest: int, gamma: int) -> np.ndarray:
    """Returns the number of blocks with 0, …, γ drafted tokens of each text, block by block."""
    counts = np.zeros((len(pairs()), gamma + 1))
    for number, (prompt, output) in enumerate(pairs()):
        done = 0
        while done < len(output):
            room = min(gamma, len(output) - done - 1)
            draft = drafted([*prompt, *output[:done]], least, longest)[:room]
            counts[number, len(draft)] += 1
            agreeing = [a == b for a, b in zip(draft, output[done:], strict=False)]
            done += 1 + [*agreeing, False].index(False)
    return counts


def test_counts_with_a_least_match_are_those_of_a_walk_along_each_text(log: Path) -> None:
    _, found = thresholds(measured(log, "lookup:3"))
    assert found.p_mins == (0, 2, 3)
    assert found.tokens.tolist() == [len(output) for _, output in pairs()]
    for at, least in enumerate((1, 2, 3)):
        for gamma in range(1, GAMMA + 1):
            expected = walked(least, 3, gamma)
            np.testing.assert_array_equal(found.verified[:, at, gamma - 1, : gamma + 1], expected)
            blocks = found.acceptances[at].blocks[gamma]
            assert blocks == pytest.approx(expected.sum(axis=0) / found.tokens.sum(), abs=1e-12)


def test_a_least_match_is_the_lookup_that_searches_no_shorter_ones(log: Path) -> None:
    profile, found = thresholds(measured(log, "lookup:vllm:1-3"))
    assert found.acceptances[0].blocks == profile.drafting().blocks
    for at, least in ((1, 2), (2, 3)):
        other = read_profile(measured(log, f"lookup:vllm:{least}-3"))
        assert found.acceptances[at].blocks == other.drafting().blocks


def test_the_gain_is_the_time_of_all_blocks_at_their_prices(log: Path) -> None:
    _, found = thresholds(measured(log, "lookup:3"))
    gain = found.gain(COST, max_gamma=GAMMA)
    prices = {gamma: COST.block_seconds(np.arange(gamma + 1)) for gamma in range(1, GAMMA + 1)}
    seconds = {
        (gamma, p_min): float((walked(max(p_min, 1), 3, gamma) @ prices[gamma]).sum())
        for gamma in prices
        for p_min in (0, 2, 3)
    }
    best = min(seconds, key=lambda pair: seconds[pair])
    fixed = min(range(1, GAMMA + 1), key=lambda gamma: seconds[gamma, 0])
    assert (gain.gamma, gain.p_min, gain.fixed_gamma) == (*best, fixed)
    assert gain.value == pytest.approx(seconds[fixed, 0] / seconds[best], rel=1e-12)
    assert gain.low is not None
    assert gain.held_out is not None


def test_sharing_a_log_changes_no_count(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "PART_BYTES", 300)
    one = thresholds(measured(log, "lookup:3"))[1]
    two = thresholds(measured(log, "lookup:3", processes=2))[1]
    np.testing.assert_array_equal(one.verified, two.verified)


def test_long_lookups_are_tried_at_a_few_lengths() -> None:
    assert least_matches("lookup:5") == (1, 2, 3, 4, 5)
    assert least_matches("lookup:vllm:3-5") == (3, 4, 5)
    assert least_matches("suffix") == (0,)
    found = least_matches("lookup:64")
    assert len(found) == MOST_TRIED
    assert (found[0], found[-1]) == (1, 64)


@pytest.mark.parametrize("stated", ["0.5", "4", "2,x", ""])
def test_other_thresholds_of_a_lookup_are_refused(stated: str, log: Path) -> None:
    path = measured(log, "lookup:3")
    assert thresholds(path, "1,3")[1].considered == [0, 2]
    with pytest.raises(ValueError, match=r"numbers of matched tokens, of 1, 2, 3, got '"):
        thresholds(path, stated)


def test_other_profiles_and_uses_have_no_matches(log: Path) -> None:
    path = measured(log, "suffix")
    assert matched(path, read_profile(path), "auto") is None
    lookup = measured(log, "lookup:3")
    traces_path(lookup).rename(traces_path(path))
    with pytest.raises(ValueError, match="must be of the profile's measurement, got others"):
        matched(path, read_profile(path), "auto")
    with pytest.raises(ValueError, match="--verification adaptive needs the confidence of every"):
        recorded_traces(path, read_profile(path), "argmax", option="--verification adaptive")
