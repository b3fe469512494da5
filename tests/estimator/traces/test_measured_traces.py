"""Traces of texts that the target writes, their resumption, and both ways of sampling drafts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import estimator.traces.measured_traces
from estimator.traces.measured_traces import (
    VALUES,
    Tracing,
    measure_traces,
    require_agreement,
    weights_hash,
)
from estimator.traces.scoring import draft_sampling
from estimator.traces.traces import TracePair, alpha
from reference.drafters.model_drafter import RandomDrafter
from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.speculative import Subject
from tests.estimator.pairs import PROMPTS, tiny_subject


def measured(
    pair: Subject, path: Path | None = None, *, batch_size: int = 1, stop_after: int = 99
) -> list[TracePair]:
    """Returns the traces; Ctrl-C is pressed when so many prompts are finished."""
    done = []

    def progress() -> None:
        done.append(1)
        if len(done) == stop_after:
            raise KeyboardInterrupt

    tracing = Tracing(pair, PROMPTS, max_gamma=3, seed=0, batch_size=batch_size)
    return measure_traces(tracing, path=path, progress=progress)


def require_equal(one: Sequence[TracePair], other: Sequence[TracePair]) -> None:
    for first, second in zip(one, other, strict=True):
        for mine, yours in ((first.sampled, second.sampled), (first.argmax, second.argmax)):
            for name in ("beta", "acceptance", "limit", "alpha_by_lenience"):
                np.testing.assert_array_equal(getattr(mine, name), getattr(yours, name))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[int]]:
    """Returns a list of the prompts whose texts the target has written, one at a time."""
    return watched("plain_session", monkeypatch)


def watched(name: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Returns a list of the second arguments of a function's calls."""
    seen = []
    function = getattr(estimator.traces.measured_traces, name)

    def called(target: Any, prompts: Any, **settings: Any) -> Any:
        seen.append(prompts)
        return function(target, prompts, **settings)

    monkeypatch.setattr(estimator.traces.measured_traces, name, called)
    return seen


def test_an_interrupted_measurement_resumes(tmp_path: Path, written: list[Sequence[int]]) -> None:
    path = tmp_path / "traces.npz"
    whole = measured(tiny_subject())
    with pytest.raises(KeyboardInterrupt):
        measured(tiny_subject(), path, stop_after=2)
    written.clear()
    require_equal(measured(tiny_subject(), path), whole)
    assert written == PROMPTS[2:]
    written.clear()
    require_equal(measured(tiny_subject(), path), whole)
    assert written == []
    assert [file.name for file in tmp_path.iterdir()] == ["traces.npz"]


@pytest.mark.parametrize("finished", [1, 2, 3])
def test_texts_do_not_depend_on_where_a_run_of_batches_was_interrupted(
    finished: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each prompt is decoded in the same batch, whether or not the run was interrupted."""
    groups = watched("decode_batch", monkeypatch)
    path = tmp_path / "traces.npz"
    whole = measured(tiny_subject(), batch_size=2)
    assert groups == [PROMPTS[:2], PROMPTS[2:]]
    with pytest.raises(KeyboardInterrupt):
        measured(tiny_subject(), path, batch_size=2, stop_after=finished)
    groups.clear()
    require_equal(measured(tiny_subject(), path, batch_size=2), whole)
    assert groups == ([PROMPTS[2:]] if finished > 1 else [PROMPTS[:2], PROMPTS[2:]])


def test_texts_sampled_at_once_give_the_traces_of_texts_sampled_alone() -> None:
    alone = measured(tiny_subject())
    for together in (3, len(PROMPTS)):
        for one, other in zip(alone, measured(tiny_subject(), batch_size=together), strict=True):
            np.testing.assert_array_equal(one.sampled.acceptance, other.sampled.acceptance)


@pytest.mark.parametrize("change", ["library", "revision", "temperature", "draft temperature"])
def test_traces_of_another_library_revision_or_setting_are_not_taken_up(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: list[Sequence[int]]
) -> None:
    path = tmp_path / "traces.npz"
    measured(tiny_subject(), path)
    written.clear()
    other = tiny_subject()
    if change == "library":
        monkeypatch.setattr(estimator.traces.measured_traces, "version", lambda name: "9.9")
    elif change == "revision":
        other.target.module.config._commit_hash = "another"  # type: ignore[attr-defined]
    elif change == "temperature":
        other = tiny_subject(0.9)
    else:
        other = tiny_subject(draft_temperature=0.9)
    measured(other, path)
    assert written == PROMPTS


def test_greedy_drafts_take_up_the_traces_of_sampled_ones(
    tmp_path: Path, written: list[Sequence[int]]
) -> None:
    """Both are in one file, even if only one was requested."""
    path = tmp_path / "traces.npz"
    sampled = measured(tiny_subject(), path)
    written.clear()
    greedy = tiny_subject(draft_temperature=0.0)
    require_equal(measured(greedy, path), sampled)
    assert written == []
    assert draft_sampling(greedy.drafter) == "argmax"


def test_argmax_traces_are_those_of_a_drafter_that_drafts_so() -> None:
    """The text is the target's for any draft; a drafter at temperature 0 is scored as itself."""
    both = measured(tiny_subject())
    alone = measured(tiny_subject(draft_temperature=0.0))
    require_equal(both, alone)
    alphas = [alpha([pair.under(way) for pair in both]) for way in ("sampled", "argmax")]
    assert 0 < alphas[1] < alphas[0] <= 1


def test_without_a_temperature_both_ways_are_one() -> None:
    for pair in measured(tiny_subject(0.0)):
        assert pair.argmax is pair.sampled
    for pair in measured(tiny_subject(0.0, draft_temperature=0.7)):
        assert set(pair.argmax.beta.tolist()) <= {0.0, 1.0}
        assert not set(pair.sampled.beta.tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("prompts", lambda one: {"prompts": [*PROMPTS, [1]]}),
        ("settings", lambda one: {"seed": 1}),
        ("settings", lambda one: {"subject": replace(one, sampling=Sampling(0.5))}),
        ("draft", lambda one: {"subject": replace(
            one, drafter=RandomDrafter(one.target.vocabulary, one.target.device))}),
    ],
    ids=["prompts", "seed", "sampling", "draft"],
)  # fmt: skip
def test_differences_between_processes_are_named(name: str, changed: "object") -> None:
    one, same = (Tracing(tiny_subject(), PROMPTS, max_gamma=3, seed=0) for _ in range(2))
    require_agreement([one.described, same.described])
    other = replace(one, **changed(one.subject))  # type: ignore[operator]
    told = [each.described for each in (one, one, other)]
    with pytest.raises(ValueError, match=f"agree on the {name}, got .* in process 0 and .* in pro"):
        require_agreement(told)


def test_weights_that_were_trained_on_are_others() -> None:
    target = tiny_subject().target
    assert isinstance(target, CausalModel)
    module = target.module
    before = weights_hash(module)
    weight = max(module.parameters(), key=lambda each: each.numel())
    assert weight.numel() > 2 * VALUES
    with torch.no_grad():
        weight += 1e-3 * torch.randn_like(weight)
    changed = weights_hash(module)
    assert changed != before
    assert weights_hash(module.to(torch.bfloat16)) not in (before, changed)
