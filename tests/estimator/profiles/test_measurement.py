"""A whole measurement of a tiny pair, and its resumption."""

import json
from pathlib import Path

import numpy as np
import pytest
from pairs import PROMPTS, tiny_pair

import estimator.profiles.measurement
from estimator.costs.operations import c_hat, operations_per_token
from estimator.profiles.measurement import measure_costs, measure_traces, profile_data
from estimator.profiles.profile import read_profile, write_profile
from estimator.runs.arms import Subject
from estimator.traces.trace_file import load_traces, save_traces
from estimator.traces.traces import Trace, alpha
from reference.laws.sampling import Sampling
from reference.stopping import Stopping

MAX_GAMMA = 3


def subject(temperature: float = 1.0) -> Subject:
    sampling = Sampling(temperature=temperature)
    target, drafter = tiny_pair(sampling)
    return Subject(target, drafter, sampling, Stopping(12))


def test_a_profile_holds_what_was_measured(tmp_path: Path) -> None:
    pair = subject()
    traces = measure_traces(
        pair, PROMPTS, max_gamma=MAX_GAMMA, seed=0, path=None, progress=lambda: None
    )
    runs = measure_costs(
        pair, PROMPTS, max_gamma=MAX_GAMMA, repeats=1, seed=0, progress=lambda: None
    )
    data = profile_data(
        pair, PROMPTS, traces, runs, max_gamma=MAX_GAMMA, c_hat=1.0, setup={"target": "t"}, seed=0
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
    assert data["setup"]["target"] == "t"
    json.dumps(data, allow_nan=False)
    write_profile(data, tmp_path / "p.json")
    assert read_profile(tmp_path / "p.json").alpha == alpha(traces)


def test_an_interrupted_measurement_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "traces.npz"
    done = []

    def stop_after_two() -> None:
        done.append(1)
        if len(done) == 2:
            raise KeyboardInterrupt

    whole = measure_traces(
        subject(), PROMPTS, max_gamma=MAX_GAMMA, seed=0, path=None, progress=lambda: None
    )
    with pytest.raises(KeyboardInterrupt):
        measure_traces(
            subject(), PROMPTS, max_gamma=MAX_GAMMA, seed=0, path=path, progress=stop_after_two
        )
    decoded = []
    decode = estimator.profiles.measurement.decode
    monkeypatch.setattr(
        estimator.profiles.measurement,
        "decode",
        lambda target, prompt, **settings: decoded.append(prompt)
        or decode(target, prompt, **settings),
    )
    resumed = measure_traces(
        subject(), PROMPTS, max_gamma=MAX_GAMMA, seed=0, path=path, progress=lambda: None
    )
    assert decoded == PROMPTS[2:]
    for first, second in zip(whole, resumed, strict=True):
        np.testing.assert_array_equal(first.acceptance, second.acceptance)
        assert first.alpha_by_lenience == second.alpha_by_lenience


def test_texts_sampled_at_once_give_the_traces_of_texts_sampled_alone(tmp_path: Path) -> None:
    done = []

    def traces(batch_size: int, path: Path | None = None) -> list[Trace]:
        return measure_traces(
            subject(),
            PROMPTS,
            max_gamma=MAX_GAMMA,
            seed=0,
            path=path,
            batch_size=batch_size,
            progress=lambda: done.append(batch_size),
        )

    path = tmp_path / "traces.npz"
    alone = traces(1)
    for together in (traces(3), traces(len(PROMPTS), path), traces(len(PROMPTS), path)):
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one.acceptance, other.acceptance)
    assert [done.count(size) for size in (1, 3)] == [len(PROMPTS)] * 2
    assert done.count(len(PROMPTS)) == 2 * len(PROMPTS)   # those taken up from a file, too


def test_traces_of_another_measurement_or_a_damaged_file_are_not_used(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    trace = Trace(np.ones(3), np.ones((3, 2)), np.array([1, 2, 0]), 5, {0.5: 1.0})
    save_traces(path, {2: trace}, "this")
    known = load_traces(path, "this")
    assert list(known) == [2]
    assert known[2].limit == 5
    assert known[2].drafted is not None
    assert known[2].alpha_by_lenience == {0.5: 1.0}
    assert load_traces(path, "another") == {}
    path.write_bytes(path.read_bytes()[:100])
    assert load_traces(path, "this") == {}
    assert load_traces(tmp_path / "none.npz", "this") == {}


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
