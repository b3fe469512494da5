"""Walks every random outcome of the real decoder and adds up the exact law of its output.

The decoder's three sources of chance (a token drawn from a law, the uniform of an acceptance, a
uniformly random token) are replaced by choices. A run follows a script of outcomes and, past its
end, takes the first possible one of each choice; the others are walked later. Each outcome's
probability is computed here in float64, so the sum over all runs is the law itself.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from reference.laws import Dense, Laws, Sampling
from reference.rules import Rule, Strict
from tests.reference.plain_laws import plain_law
from tests.reference.tabular import Table

Text = tuple[int, ...]
Acceptance = Callable[[float, float], float]
Rows = Sequence[Sequence[float]]
Beginnings = Callable[[Rows, Rows, Sequence[int]], Sequence[float]]


class Walk:
    """One run after another, until no outcome is left."""

    def __init__(self) -> None:
        self._waiting: list[list[int]] = [[]]
        self._script: list[int] = []
        self._taken: list[int] = []
        self._probability = 1.0

    def choose(self, probabilities: Sequence[float]) -> int:
        """Returns one of the possible outcomes, and remembers to come back for the others."""
        possible = [outcome for outcome, mass in enumerate(probabilities) if mass > 0]
        if len(self._taken) < len(self._script):
            outcome = self._script[len(self._taken)]
        else:
            outcome, *others = possible
            self._waiting += [[*self._taken, other] for other in others]
        self._probability *= probabilities[outcome]
        self._taken.append(outcome)
        return outcome

    def law(self, run: Callable[[], Text]) -> dict[Text, float]:
        """Returns the probability of everything that run can return."""
        law: dict[Text, float] = defaultdict(float)
        while self._waiting:
            self._script, self._taken, self._probability = self._waiting.pop(), [], 1.0
            text = run()
            law[text] += self._probability
        return dict(law)


def walk_choices(
    monkeypatch: pytest.MonkeyPatch,
    rules: dict[type[Rule], Acceptance],
    *,
    joint: dict[type[Rule], Beginnings] | None = None,
) -> Walk:
    """Returns a walk through whose choices all chance in the decoder now goes.

    Args:
      monkeypatch: undoes it.
      rules: for each acceptance rule, the probability with which it should accept a token whose
        probabilities under target and draft are given. The rule's own code decides, given a
        uniform from the middle of either outcome's range, and must decide as it should.
      joint: for each rule that judges a draft as a whole, the probability with which it should
        accept each of its beginnings, given the laws and the tokens.
    """
    walk = Walk()

    def draw(weights: Tensor, generator: torch.Generator) -> Tensor:
        (row,) = weights.double().tolist()
        return torch.tensor([walk.choose([weight / sum(row) for weight in row])])

    def randint(high: int, size: tuple[int], **_: object) -> Tensor:
        assert size == (1,)
        return torch.tensor([walk.choose([1 / high] * high)])

    for module in ("reference.laws", "reference.verify"):
        monkeypatch.setattr(f"{module}.draw", draw)
    monkeypatch.setattr(torch, "randint", randint)
    for rule, acceptance in rules.items():
        monkeypatch.setattr(rule, "accepts", chosen(walk, rule.accepts, acceptance))
    for rule, beginnings in ({} if joint is None else joint).items():
        monkeypatch.setattr(rule, "accepts", chosen_jointly(walk, rule.accepts, beginnings))
    return walk


def chosen(
    walk: Walk, accepts: Callable[..., Tensor], acceptance: Acceptance
) -> Callable[..., Tensor]:
    """Returns a rule's `accepts` with uniforms that the walk chooses."""

    def chosen_accepts(rule: Rule, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        draws = [0.5] * len(tokens)
        expected = []
        for index, (mass_p, mass_q) in enumerate(
            zip(p.of(tokens).tolist(), q.of(tokens).tolist(), strict=True)
        ):
            probability = acceptance(mass_p, mass_q)
            accepted = walk.choose([1 - probability, probability]) == 1
            draws[index] = probability / 2 if accepted else (1 + probability) / 2
            expected.append(accepted)
            if not accepted:
                break  # the later tokens' verdicts change nothing
        decided = accepts(rule, p, q, tokens, torch.tensor(draws, dtype=torch.float64))
        assert decided.shape == tokens.shape
        assert decided[: len(expected)].tolist() == expected
        return decided

    return chosen_accepts


def chosen_jointly(
    walk: Walk, accepts: Callable[..., Tensor], beginnings: Beginnings
) -> Callable[..., Tensor]:
    """Returns a rule's `accepts` with uniforms that the walk chooses, the whole draft's first."""

    def chosen_accepts(rule: Rule, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        width = max(1 + int(tokens.max()), least_vocabulary(p), least_vocabulary(q))
        masses = [law.dense(width).double().tolist() for law in (p, q)]
        reached = beginnings(masses[0], masses[1], tokens.tolist())
        draws = [0.5] * len(tokens)
        stands = 0
        for index, probability in reversed(list(enumerate(reached))):
            accepted = walk.choose([1 - probability, probability]) == 1
            draws[index] = probability / 2 if accepted else (1 + probability) / 2
            if accepted:
                stands = index + 1
                break  # a shorter beginning's verdict changes nothing
        decided = accepts(rule, p, q, tokens, torch.tensor(draws, dtype=torch.float64))
        assert decided.tolist() == [True] * stands + [False] * (len(tokens) - stands)
        return decided

    return chosen_accepts


def least_vocabulary(law: Laws) -> int:
    """Returns how many tokens there are at least."""
    return law.probabilities.shape[1] if isinstance(law, Dense) else 1 + int(law.tokens.max())


def own_law(
    next_token: Callable[[Sequence[int]], Sequence[float]],
    prompt: Sequence[int],
    *,
    new_tokens: int,
    end_ids: frozenset[int] = frozenset(),
) -> dict[Text, float]:
    """Returns the law of plain sampling's continuations, written down term by term.

    Args:
      next_token: the law that follows a text.
      prompt: ids that the text continues.
      new_tokens: the length at which a continuation ends.
      end_ids: tokens that end it before.
    """
    law: dict[Text, float] = {}
    waiting: list[tuple[Text, float]] = [((), 1.0)]
    while waiting:
        text, probability = waiting.pop()
        for token, mass in enumerate(next_token([*prompt, *text])):
            longer = (*text, token)
            if mass == 0:
                continue
            if len(longer) == new_tokens or token in end_ids:
                law[longer] = probability * mass
            else:
                waiting.append((longer, probability * mass))
    return law


STRICT_ACCEPTANCE: dict[type[Rule], Acceptance] = {Strict: lambda p, q: min(1.0, p / q)}
"""min(1, p/q), as Algorithm 1 of Leviathan et al. 2023 says."""


def require_own_law(
    law: dict[Text, float],
    target: Table,
    sampling: Sampling,
    prompt: Sequence[int],
    *,
    new_tokens: int,
    tolerance: float = 1e-12,
) -> None:
    """Fails unless a law of texts equals plain sampling from a target under settings."""
    expected = own_law(
        lambda text: plain_law(target(text), sampling, text), prompt, new_tokens=new_tokens
    )
    require_equal(law, expected, tolerance=tolerance)


def require_equal(law: dict[Text, float], expected: dict[Text, float], *, tolerance: float) -> None:
    """Fails unless two laws agree up to rounding."""
    assert abs(sum(law.values()) - 1) < tolerance
    for text in law.keys() | expected.keys():
        assert abs(law.get(text, 0.0) - expected.get(text, 0.0)) < tolerance, text
