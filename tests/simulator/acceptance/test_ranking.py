"""Verification by rank: which tokens it verifies, the output law, and batches that are played."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.acceptance.replay import Replay
from simulator.acceptance.stopping.ranking import (
    Budget,
    PlayedBatch,
    RankedTexts,
    best_budget,
    step_seconds,
    verified_lengths,
    walked,
)
from simulator.cost.curves import CostModel
from simulator.cost.setting import Wall

Laws = NDArray[np.float64]
Texts = tuple[tuple[int, ...], ...]
GAMMA, LENGTH = 2, 4
# Next-token laws by the last token, of two tokens, for each of two sequences.
TARGETS = np.array([[[0.6, 0.4], [0.3, 0.7]], [[0.5, 0.5], [0.8, 0.2]]])
DRAFTS = np.array([[[0.9, 0.1], [0.55, 0.45]], [[0.45, 0.55], [0.6, 0.4]]])
# Times of a step by verified tokens: they rise in steps, as passes are padded to captured graphs.
PADDED, MIXED = np.array([1, 1.75, 1.75, 2.6, 2.6]), np.array([1, 1.2, 1.5, 1.5, 1.9])


def test_the_walk_stops_at_the_first_token_that_lowers_the_rate() -> None:
    survival = np.array([[0.9, 0.5], [0.6, 0.1]])
    seconds = np.array([1.0, 1.1, 1.2, 1.3, 1.4])
    # Rates 2, 2.9/1.1, 3.5/1.2, 4/1.3 = 3.08, 4.1/1.4 = 2.93.
    assert walked(survival, seconds) == best_budget(survival, seconds) == 3
    assert verified_lengths(survival, np.array(3)).tolist() == [2, 1]


def test_a_step_in_the_price_ends_the_walk_where_the_best_budget_goes_on() -> None:
    survival = np.array([[0.95, 0.9], [0.9, 0.85]])
    seconds = np.array([1.0, 1.6, 1.6, 1.6, 1.6])
    assert walked(survival, seconds) == 0
    assert best_budget(survival, seconds) == 4


def test_a_step_is_priced_between_lengths_and_not_beyond_captured_graphs() -> None:
    cost = CostModel({1: 1.0, 2: 1.5, 3: 3.0}, 0.1)
    np.testing.assert_allclose(step_seconds(cost, 2, 2), [1, 1.25, 1.5, 2.25, 3])
    wall = Wall("tokens", 4, "", "")
    assert np.isinf(step_seconds(cost, 2, 2, wall)).tolist() == [False, False, False, True, True]
    assert np.isfinite(step_seconds(cost, 2, 6, wall)).all()  # the baseline is beyond, too


def drafts(sequence: int, last: int) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yields drafts of GAMMA tokens with their probabilities."""
    for tokens in product(range(2), repeat=GAMMA):
        before = (last, *tokens)
        yield (
            float(np.prod([DRAFTS[sequence, a, b] for a, b in zip(before, tokens, strict=False)])),
            tokens,
        )


def survival_of(sequence: int, last: int, tokens: tuple[int, ...]) -> Laws:
    """Products of the largest probabilities, which are known before each token is drawn."""
    return np.cumprod([DRAFTS[sequence, each].max() for each in (last, *tokens[:-1])])


def judged(
    sequence: int, last: int, tokens: tuple[int, ...], verified: int
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yields what a block emits by Algorithm 1, with probabilities."""
    chance = 1.0
    before = last
    for place in range(verified):
        p, q = TARGETS[sequence, before], DRAFTS[sequence, before]
        token = tokens[place]
        accept = min(1.0, p[token] / q[token])
        rest = np.maximum(p - q, 0)
        for other in np.flatnonzero(rest).tolist():
            mass = chance * (1 - accept) * rest[other] / rest.sum()
            yield mass, (*tokens[:place], other)
        chance *= accept
        before = token
    for other in range(2):
        yield chance * TARGETS[sequence, before, other], (*tokens[:verified], other)


Chooser = Callable[[Laws, Laws], NDArray[np.int64]]


def output_law(choose: Chooser) -> dict[Texts, float]:
    """Returns the joint law of two texts of LENGTH tokens, every outcome of two steps enumerated.

    After the second step the texts go on without drafts.
    """
    first = np.ones((2, GAMMA))
    law: dict[Texts, float] = defaultdict(float)

    def step(texts: Texts, chance: float, stale: Laws, left: int) -> None:
        if left == 0 or chance == 0:
            law_of_rest(texts, chance)
            return
        last = [text[-1] for text in texts]
        for one, other in product(drafts(0, last[0]), drafts(1, last[1])):
            survival = np.stack(
                [survival_of(at, last[at], each[1]) for at, each in enumerate((one, other))]
            )
            lengths = verified_lengths(survival, choose(survival, stale))
            outcomes = [
                list(judged(at, last[at], each[1], int(lengths[at])))
                for at, each in enumerate((one, other))
            ]
            for (a, emitted), (b, others) in product(*outcomes):
                longer = ((*texts[0], *emitted), (*texts[1], *others))
                step(longer, chance * one[0] * other[0] * a * b, survival, left - 1)

    def law_of_rest(texts: Texts, chance: float) -> None:
        for tails in product(*(continuations(at, text) for at, text in enumerate(texts))):
            mass = chance * tails[0][0] * tails[1][0]
            law[tuple(tail[1] for tail in tails)] += mass

    step(((0,), (0,)), 1.0, first, 2)
    return law


def continuations(sequence: int, text: tuple[int, ...]) -> list[tuple[float, tuple[int, ...]]]:
    """Returns the texts of LENGTH further tokens that begin as `text` does, without drafts."""
    found = [(1.0, text[: LENGTH + 1])]
    for _ in range(LENGTH + 1 - len(text)):
        found = [
            (chance * TARGETS[sequence, each[-1], token], (*each, token))
            for chance, each in found
            for token in range(2)
        ]
    return found


def target_law() -> dict[Texts, float]:
    pairs = product(continuations(0, (0,)), continuations(1, (0,)))
    return {(one[1], other[1]): one[0] * other[0] for one, other in pairs}


def largest_error(choose: Chooser) -> tuple[float, int]:
    """Returns the largest error of a text's probability, and how many budgets were chosen."""
    chosen = set()

    def noted(live: Laws, stale: Laws) -> NDArray[np.int64]:
        budget = choose(live, stale)
        chosen.add(int(budget))
        return budget

    law, wanted = output_law(noted), target_law()
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    return max(abs(law[texts] - chance) for texts, chance in wanted.items()), len(chosen)


def test_the_walk_keeps_the_law_of_two_sequences_that_share_a_step() -> None:
    error, budgets = largest_error(lambda live, _: walked(live, MIXED))
    assert error < 1e-12
    assert budgets > 1


def test_a_budget_of_the_previous_step_keeps_the_law() -> None:
    error, budgets = largest_error(lambda _, stale: best_budget(stale, PADDED))
    assert error < 1e-12
    assert budgets > 1


def test_the_best_budget_of_the_step_itself_looks_ahead_and_changes_the_law() -> None:
    """The counter-example: whether a token is verified depends on the confidence that follows it.

    Sequence 0 is worth two more tokens only if its first draft is token 0, after which the draft is
    sure; so token 1 is never rejected.
    """
    error, budgets = largest_error(lambda live, _: best_budget(live, PADDED))
    assert error > 1e-3
    assert budgets > 1


TOKENS, LONGEST, RANKED_GAMMA = 300, 6, 4


def made_text(
    seed: int, rate: float
) -> tuple[NDArray[np.float64], tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Returns acceptances of a text, and the text with a draft that knows their chances."""
    generator = np.random.default_rng(seed)
    accepted = np.clip(generator.normal(rate, 0.3, TOKENS), 0, 1)
    padded = np.concatenate([accepted, np.zeros(LONGEST)])
    windows = np.stack([padded[at : at + LONGEST] for at in range(TOKENS)])
    room = Replay(accepted).lengths(LONGEST)
    return accepted, (windows, windows.cumprod(axis=1), room)


TEXTS = [made_text(seed, rate) for seed, rate in enumerate((0.5, 0.7, 0.9))]
RANKED = RankedTexts([text for _, text in TEXTS])


def played(
    budget: Budget | None, *, batch: int, token: float, gamma: int = RANKED_GAMMA, seed: int = 1
) -> PlayedBatch:
    seconds = 1 + token * np.arange(batch * gamma + 1)
    generator = np.random.default_rng(seed)
    return RANKED.play(gamma, seconds, batch=batch, budget=budget, generator=generator)


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_free_verification_is_a_fixed_length(batch: int) -> None:
    """Within 4.5 standard errors of replay: a false alarm in 10,000 (t law, 9 degrees)."""
    found = played("walk", batch=batch, token=0.0)
    calls = sum(Replay(accepted).calls(RANKED_GAMMA) for accepted, _ in TEXTS)
    wanted = calls / (TOKENS * len(TEXTS))
    assert np.log(found.seconds_per_token / wanted) == pytest.approx(0, abs=6 * found.error)
    assert found.verified_per_call == pytest.approx(RANKED_GAMMA, abs=0.1)


def test_dear_verification_verifies_nothing() -> None:
    found = played("walk", batch=8, token=10.0)
    assert found == PlayedBatch(1.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("batch", [1, 16])
def test_ways_to_choose_have_their_order(batch: int) -> None:
    """An oracle beats those that know chances, and these beat verifying all that is drafted."""
    token = 0.3 / batch
    walk, previous, oracle = (
        played(budget, batch=batch, token=token) for budget in ("walk", "previous step", None)
    )
    everything = (1 + RANKED_GAMMA * 0.3) * played("walk", batch=batch, token=0.0).seconds_per_token
    assert oracle.seconds_per_token < walk.seconds_per_token < everything
    assert oracle.seconds_per_token < previous.seconds_per_token < everything
    assert walk.verified_per_call < RANKED_GAMMA


def test_a_batch_is_repeated_by_its_seed() -> None:
    one, same, other = (played("walk", batch=4, token=0.1, seed=seed) for seed in (1, 1, 2))
    assert one == same != other
