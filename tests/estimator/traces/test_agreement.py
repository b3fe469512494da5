"""Whether processes that measure together measure the same."""

from dataclasses import replace

import pytest
import torch
from pairs import PROMPTS, tiny_subject

from estimator.traces.measured_traces import VALUES, Tracing, require_agreement, weights_hash
from reference.drafters.random_drafter import RandomDrafter
from reference.laws import Sampling


def traced() -> Tracing:
    return Tracing(tiny_subject(), PROMPTS, max_gamma=3, seed=0)


def test_the_same_is_described_alike() -> None:
    told = [traced().described for _ in range(2)]
    assert list(told[0]) == ["prompts", "target", "draft", "settings"]
    require_agreement(told)


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
def test_what_differs_is_named(name: str, changed: "object") -> None:
    one = traced()
    other = replace(one, **changed(one.subject))  # type: ignore[operator]
    told = [each.described for each in (one, one, other)]
    with pytest.raises(ValueError, match=f"agree on the {name}, got .* in process 0 and .* in pro"):
        require_agreement(told)


def test_weights_that_were_trained_on_are_others() -> None:
    module = tiny_subject().target.module
    before = weights_hash(module)
    weight = max(module.parameters(), key=lambda each: each.numel())
    assert weight.numel() > 2 * VALUES
    with torch.no_grad():
        weight += 1e-3 * torch.randn_like(weight)
    changed = weights_hash(module)
    assert changed != before
    assert weights_hash(module.to(torch.bfloat16)) not in (before, changed)
