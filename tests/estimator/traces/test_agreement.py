"""Whether processes that measure together measure the same."""

from dataclasses import replace

import pytest
import torch
from pairs import PROMPTS, tiny_subject

from estimator.traces.agreement import VALUES, described, require_agreement, weights_hash
from estimator.traces.measured_traces import TraceSettings
from reference.drafters.random_drafter import RandomDrafter
from reference.laws.sampling import Sampling

SETTINGS = TraceSettings(max_gamma=3, seed=0)


def test_the_same_is_described_alike() -> None:
    told = [described(tiny_subject(), PROMPTS, SETTINGS) for _ in range(2)]
    assert list(told[0]) == ["prompts", "target", "draft", "settings"]
    require_agreement(told)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("prompts", lambda one: (one, [*PROMPTS, [1]], SETTINGS)),
        ("settings", lambda one: (one, PROMPTS, replace(SETTINGS, seed=1))),
        ("settings", lambda one: (replace(one, sampling=Sampling(0.5)), PROMPTS, SETTINGS)),
        ("draft", lambda one: (
            replace(one, drafter=RandomDrafter(one.target.vocabulary, one.target.device)),
            PROMPTS, SETTINGS)),
    ],
    ids=["prompts", "seed", "sampling", "draft"],
)  # fmt: skip
def test_what_differs_is_named(name: str, changed: "object") -> None:
    one = tiny_subject()
    other, prompts, settings = changed(one)  # type: ignore[operator]
    told = [
        described(one, PROMPTS, SETTINGS),
        described(one, PROMPTS, SETTINGS),
        described(other, prompts, settings),
    ]
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
