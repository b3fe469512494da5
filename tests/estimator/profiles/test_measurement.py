"""A whole measurement of a tiny pair."""

import json
from pathlib import Path

import pytest
from pairs import PROMPTS, tiny_pair

from estimator.costs.operations import c_hat, operations_per_token
from estimator.profiles.measurement import measure_costs, measured_gammas, profile_data
from estimator.profiles.profile import read_profile, write_profile
from estimator.runs.arms import Subject
from estimator.traces.measured_traces import measure_traces
from estimator.traces.traces import alpha
from reference.laws.sampling import Sampling
from reference.stopping import Stopping

MAX_GAMMA = 3


def subject(temperature: float = 1.0) -> Subject:
    sampling = Sampling(temperature=temperature)
    target, drafter = tiny_pair(sampling)
    return Subject(target, drafter, sampling, Stopping(12))


def test_a_profile_holds_what_was_measured(tmp_path: Path) -> None:
    pair = subject()
    pairs = measure_traces(
        pair, PROMPTS, max_gamma=MAX_GAMMA, seed=0, path=None, progress=lambda: None
    )
    traces = [both.sampled for both in pairs]
    runs = measure_costs(
        pair, PROMPTS, max_gamma=MAX_GAMMA, repeats=1, seed=0, progress=lambda: None
    )
    data = profile_data(
        pair, PROMPTS, pairs, runs, max_gamma=MAX_GAMMA, c_hat=1.0, setup={"target": "t"}, seed=0
    )
    assert data["alpha"]["value"] == alpha(traces)
    assert data["alpha"]["low"] <= data["alpha"]["value"] <= data["alpha"]["high"]
    assert data["alpha"]["tokens"] == 12 * len(PROMPTS)
    assert data["alpha_by_position_in_text"] == [
        {"first": 0, "alpha": pytest.approx(alpha(traces)), "tokens": 12 * len(PROMPTS)}
    ]
    lenient = list(data["alpha_by_lenience"].values())
    assert lenient == sorted(lenient)
    assert data["alpha_by_lenience"]["1.0"] == pytest.approx(alpha(traces))
    assert set(data["improvement_factor"]) == {"1", "2", "3"}
    for factor in data["improvement_factor"].values():
        assert factor["low"] < factor["replay"] < factor["high"]
    assert data["recommended_gamma"] <= data["optimal_gamma"]
    assert data["noise_percent"] >= 0
    assert data["noise_within_percent"] > 0
    assert isinstance(data["quiet"], bool)
    assert data["repeats"] == 1
    assert data["setup"]["target"] == "t"
    assert data["draft_sampling"] == "sampled"
    assert data["alpha_by_draft_sampling"] == {
        "sampled": alpha(traces), "argmax": alpha([both.argmax for both in pairs])
    }  # fmt: skip
    json.dumps(data, allow_nan=False)
    write_profile(data, tmp_path / "p.json")
    assert read_profile(tmp_path / "p.json").alpha == alpha(traces)


def test_operations_count_each_multiplying_weight_once() -> None:
    pair = subject()
    module = pair.target.module
    # embeddings, tied or not, are looked up; the head multiplies
    linear = sum(
        layer.weight.numel() for layer in module.modules() if type(layer).__name__ == "Linear"
    )
    norms = sum(p.numel() for name, p in module.named_parameters() if "norm" in name)
    assert operations_per_token(module) == 2 * (linear + norms)
    assert c_hat(module, pair.drafter) == 1


@pytest.mark.parametrize(
    ("most", "gammas"),
    [
        (1, [1]),
        (3, [1, 2, 3]),
        (5, [1, 2, 3, 4, 5]),
        (7, [1, 2, 3, 4, 6, 7]),
        (16, [1, 2, 3, 4, 6, 8, 12, 16]),
    ],
)
def test_two_draft_lengths_an_octave_are_timed_and_the_longest(
    most: int, gammas: list[int]
) -> None:
    assert measured_gammas(most) == gammas
