"""Replay under stopping rules against the real decoder, all of whose outcomes are enumerated."""

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from estimator.traces.scoring import trace
from estimator.traces.traces import Trace
from reference.laws import Laws, Sampling, seeded
from reference.policies import Confidence, Policy, Product
from reference.records import Block, Stopping
from reference.scoring import confidence
from reference.speculative import Subject
from simulator.acceptance.stopping.stopped_text import RULES, StoppingRule
from tests.reference.combinations import DRAFT, PROMPT, TARGET, VOCABULARY, model_drafter
from tests.reference.decoding import speculate
from tests.reference.enumeration import STRICT_ACCEPTANCE, walk_choices
from tests.reference.tabular import TabularModel

MOST = 3
ARGMAX = Sampling(0.0)


class ByLaw:
    """A rule of an engine as a policy: judged on the law, before the draw or after it."""

    name: ClassVar[str] = "by law"

    def __init__(self, rule: StoppingRule, threshold: float) -> None:
        self.rule, self.threshold, self.steps, self.reached = rule, threshold, 0, 1.0

    def gamma(self, blocks: Sequence[Block]) -> int:
        self.reached = 1.0
        return MOST

    def _sure(self, q: Laws, token: Tensor) -> bool:
        sure = confidence(q, token)
        assert sure is not None
        own = float(sure[0, self.rule.column])
        self.reached = self.reached * own if self.rule.product else own
        return self.reached >= self.threshold

    def trusts(self, q: Laws) -> bool:
        self.steps += 1
        return self.rule.keeps or self._sure(q, torch.tensor([0]))

    def goes_on(self, token: Tensor, q: Laws) -> bool:
        return not self.rule.keeps or self._sure(q, token)


class Counted(ByLaw):
    """An own policy whose laws are counted."""

    def __init__(self, policy: Confidence | Product) -> None:
        self.policy, self.steps = policy, 0

    def gamma(self, blocks: Sequence[Block]) -> int:
        return self.policy.gamma(blocks)

    def trusts(self, q: Laws) -> bool:
        self.steps += 1
        return True

    def goes_on(self, token: Tensor, q: Laws) -> bool:
        return self.policy.goes_on(token, q)


def policy_of(rule: StoppingRule, threshold: float) -> ByLaw:
    if rule.confidence != "own":
        return ByLaw(rule, threshold)
    return Counted((Product if rule.product else Confidence)(threshold, MOST))


Means = dict[tuple[int, ...], np.ndarray]


def enumerated(
    monkeypatch: pytest.MonkeyPatch,
    policy: Callable[[], Policy],
    draft_sampling: Sampling,
    stopping: Stopping,
) -> tuple[dict[tuple[int, ...], float], Means]:
    """Returns the law of texts, and the mean calls, verified tokens and paid steps of each."""
    law: dict[tuple[int, ...], float] = defaultdict(float)
    sums: Means = defaultdict(lambda: np.zeros(4))

    def run() -> tuple[int, ...]:
        own = policy()
        text = speculate(
            TabularModel(TARGET, VOCABULARY),
            model_drafter(DRAFT, draft_sampling),
            PROMPT,
            Sampling(),
            own,
            stopping,
            generator=torch.Generator(),
        )
        drafted = sum(len(block.drafted) for block in text.blocks)
        return (*text.tokens, -1, text.target_calls, drafted, getattr(own, "steps", 0))

    for outcome, mass in walk_choices(monkeypatch, STRICT_ACCEPTANCE).law(run).items():
        at = outcome.index(-1)
        law[outcome[:at]] += mass
        sums[outcome[:at]][:3] += mass * np.array(outcome[at + 1 :])
    return dict(law), {text: found[:3] / law[text] for text, found in sums.items()}


@functools.cache
def recorded(
    text: tuple[int, ...], draft_sampling: Sampling, stopping: Stopping, draw: int = 0
) -> Trace:
    """Returns a text's trace, with paths drawn from a seed; no rule changes it."""
    subject = Subject(
        TabularModel(TARGET, VOCABULARY),
        model_drafter(DRAFT, draft_sampling),
        Sampling(),
        stopping,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "estimator.traces.scoring.seeded", lambda device, *at: seeded(device, *at, draw)
        )
        return trace(subject, PROMPT, text, max_gamma=MOST, ahead=MOST)


@pytest.mark.parametrize(
    ("threshold", "stopping"),
    [
        (0.45, Stopping(4, frozenset([2, 0]))),
        (0.7, Stopping(3)),
        (0.7, Stopping(4, frozenset([1]))),
    ],
)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_argmax_drafts_cost_the_replayed_calls_along_every_text(
    rule: StoppingRule, stopping: Stopping, threshold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls, verified tokens and paid draft steps, for each text that the target can write."""
    law, means = enumerated(monkeypatch, lambda: policy_of(rule, threshold), ARGMAX, stopping)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    for text, (calls, drafted, steps) in means.items():
        stopped = recorded(text, ARGMAX, stopping).stopped(rule, drawn=False)
        blocks = stopped.blocks(MOST, rule, threshold)
        assert blocks.verified.sum() == pytest.approx(calls, abs=1e-12)
        assert blocks.verified @ np.arange(MOST + 1) == pytest.approx(drafted, abs=1e-12)
        assert blocks.paid @ np.arange(MOST + 1) == pytest.approx(steps, abs=1e-12)
        assert blocks.drafted_error == 0


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_drawn_drafts_have_the_calls_of_replay_along_every_text(
    rule: StoppingRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their drafted tokens are an estimate of mean 0 error, over texts and paths drawn 12 times.

    The bound is 4 standard errors: a false alarm in 16,000 runs.
    """
    threshold, stopping = 0.6, Stopping(3)
    law, means = enumerated(monkeypatch, lambda: policy_of(rule, threshold), Sampling(), stopping)
    monkeypatch.undo()
    errors = np.zeros(12)
    for draw in range(len(errors)):
        for text, (calls, drafted, _) in means.items():
            stopped = recorded(text, Sampling(), stopping, draw).stopped(rule, drawn=True)
            blocks = stopped.blocks(MOST, rule, threshold)
            assert blocks.verified.sum() == pytest.approx(calls, abs=1e-12)
            errors[draw] += law[text] * (blocks.verified @ np.arange(MOST + 1) - drafted)
    error = errors.std(ddof=1) / np.sqrt(len(errors))
    assert abs(errors.mean()) < 4 * error + 1e-12


def test_a_token_dropped_for_its_own_probability_changes_the_output() -> None:
    """The counter-example: p = (.5, .5), q = (.8, .2), dropping x where q(x) < .5.

    Token 0 is kept and accepted with probability 5/8; a dropped draft leaves the target's own draw.
    A rule that looks at the largest probability, here always .8, drops nothing and changes nothing.
    """
    p, q = np.array([0.5, 0.5]), np.array([0.8, 0.2])
    residual = np.maximum(p - q, 0) / np.maximum(p - q, 0).sum()
    accepted = np.minimum(1, p / q)

    def output(dropped: Sequence[bool]) -> np.ndarray:
        law = np.zeros(2)
        for token, drop in enumerate(dropped):
            stays = accepted[token] * np.eye(2)[token] + (1 - accepted[token]) * residual
            law += q[token] * (p if drop else stays)
        return law

    assert output([False, False]) == pytest.approx(p, abs=1e-12)
    assert output([False, True]) == pytest.approx([0.6, 0.4], abs=1e-12)
    assert all(rule.keeps or rule.confidence != "own" for rule in RULES.values())
