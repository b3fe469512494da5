"""Sampling with heads: the law of whole texts, enumerated, is the target's own."""

import itertools

import pytest
from combinations import POLICIES, SETTINGS, TARGET, VOCABULARY
from decoding import speculate
from enumeration import own_law, require_equal, walk_choices
from heads_laboratory import heads_drafter
from plain_laws import plain_law
from tabular import TabularModel

from reference.laws import Sampling
from reference.policies import Fixed, Policy
from reference.records import Stopping
from reference.rules import Strict


def law_with_heads(
    monkeypatch: pytest.MonkeyPatch,
    prompt: tuple[int, ...],
    sampling: Sampling,
    policy: Policy,
    *,
    drafting: Sampling,
) -> dict[tuple[int, ...], float]:
    """Returns the law of texts of three tokens."""

    def run() -> tuple[int, ...]:
        target = TabularModel(TARGET, VOCABULARY)
        drafter = heads_drafter(target, drafting)
        return speculate(target, drafter, prompt, sampling, policy, Stopping(3)).tokens

    return walk_choices(monkeypatch, {Strict: lambda p, q: min(1.0, p / q)}).law(run)


# Every policy, and every setting with some policy.
CASES = sorted(
    {(policy, "plain") for policy in POLICIES}
    | set(zip(itertools.cycle(["fixed 2", "confidence"]), SETTINGS, strict=False))
)


@pytest.mark.parametrize(("policy", "setting"), CASES)
def test_law_of_texts_drafted_by_heads_is_the_targets(
    policy: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampling = SETTINGS[setting]
    law = law_with_heads(monkeypatch, (0, 1), sampling, POLICIES[policy], drafting=sampling)
    expected = own_law(lambda text: plain_law(TARGET(text), sampling, text), (0, 1), new_tokens=3)
    require_equal(law, expected, tolerance=1e-12)


@pytest.mark.parametrize("drafting", [Sampling(0.0), Sampling(1.7, top_k=2)], ids=str)
def test_heads_may_draft_by_another_setting_than_the_targets(
    drafting: Sampling, monkeypatch: pytest.MonkeyPatch
) -> None:
    # After one token there is no state to draft the first block from.
    law = law_with_heads(monkeypatch, (2,), Sampling(), Fixed(2), drafting=drafting)
    require_equal(law, own_law(TARGET, (2,), new_tokens=3), tolerance=1e-12)
