"""Batches that are played along recorded texts, against replay in closed form."""

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.acceptance.replay import Replay
from simulator.acceptance.stopping.ranking import Budget, PlayedBatch, RankedText, RankedTexts

TOKENS, LONGEST, GAMMA = 300, 6, 4


def made_text(seed: int, rate: float) -> tuple[NDArray[np.float64], RankedText]:
    """Returns acceptances of a text, and the text with a draft that knows their chances."""
    generator = np.random.default_rng(seed)
    accepted = np.clip(generator.normal(rate, 0.3, TOKENS), 0, 1)
    padded = np.concatenate([accepted, np.zeros(LONGEST)])
    windows = np.stack([padded[at : at + LONGEST] for at in range(TOKENS)])
    room = Replay(accepted).lengths(LONGEST)
    return accepted, RankedText(windows, windows.cumprod(axis=1), room)


TEXTS = [made_text(seed, rate) for seed, rate in enumerate((0.5, 0.7, 0.9))]
RANKED = RankedTexts([text for _, text in TEXTS])


def played(
    budget: Budget | None, *, batch: int, token: float, gamma: int = GAMMA, seed: int = 1
) -> PlayedBatch:
    seconds = 1 + token * np.arange(batch * gamma + 1)
    generator = np.random.default_rng(seed)
    return RANKED.play(gamma, seconds, batch=batch, budget=budget, generator=generator)


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_free_verification_is_a_fixed_length(batch: int) -> None:
    """Within 4.5 standard errors of replay: a false alarm in 10,000 (t law, 9 degrees)."""
    found = played("walk", batch=batch, token=0.0)
    calls = sum(Replay(accepted).calls(GAMMA) for accepted, _ in TEXTS)
    wanted = calls / (TOKENS * len(TEXTS))
    assert np.log(found.seconds_per_token / wanted) == pytest.approx(0, abs=6 * found.error)
    assert found.verified_per_call == pytest.approx(GAMMA, abs=0.1)


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
    everything = (1 + GAMMA * 0.3) * played("walk", batch=batch, token=0.0).seconds_per_token
    assert oracle.seconds_per_token < walk.seconds_per_token < everything
    assert oracle.seconds_per_token < previous.seconds_per_token < everything
    assert walk.verified_per_call < GAMMA


def test_a_batch_is_repeated_by_its_seed() -> None:
    one, same, other = (played("walk", batch=4, token=0.1, seed=seed) for seed in (1, 1, 2))
    assert one == same != other
