"""Verification by rank: the server verifies the drafted tokens most likely to be accepted.

vLLM's adaptive verification (pull requests 47808 and 52228; release 0.32,
v1/worker/gpu/spec_decode/adaptive_verification.py) drafts K tokens for each sequence, ranks the
tokens of all sequences by survival (the product of a sequence's confidences), and verifies the
first tokens of the ranking, up to a budget. Two ways to choose the budget are lossless:

    walk            down the ranking, to the first token that lowers the speed
    previous step   the best budget for the confidences of the step before (vLLM)

The walk decides about a token from higher-ranked tokens only, so the token's own draw has no
influence. The best budget for a step's own ranking would depend on confidences after a token, and
so on the token itself: it would change the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from simulator.cost.cost import Cost
from simulator.cost.setting import Wall
from simulator.numerics.arguments import Floats

Budget = Literal["walk", "previous step"]
BUDGETS: tuple[Budget, ...] = get_args(Budget)


def step_seconds(cost: Cost, gamma: int, batch: int, wall: Wall | None = None) -> Floats:
    """Returns the time of a step except drafting, by number of drafted tokens that it verifies.

    The times, shape (batch * gamma + 1,), are linear between multiples of `batch`.

    wall: limit of the captured CUDA graphs. Larger steps count as infinitely slow, unless the step
      without drafts already exceeds the limit.
    """
    drafted = np.arange(batch * gamma + 1) / batch
    seconds = np.interp(drafted, np.arange(gamma + 1), cost.checking_seconds(np.arange(gamma + 1)))
    return seconds if wall is None else np.where(wall.crossed(batch, drafted), np.inf, seconds)


def walked(survival: Floats, seconds: Floats) -> NDArray[np.int64]:
    """Returns how many drafted tokens of a batch are verified with the budget "walk", shape (...).

    Tokens are verified in the order of their survival, until the next token would lower the
    expected tokens per second.

    survival: for each drafted token, the server's estimate, made before the token is drawn, of the
      probability that it and all tokens before it in its block are accepted, (..., batch, gamma).
    seconds: time of a step, drafting included, for 0, …, batch * gamma verified tokens; rising.
    """
    pays = np.diff(_rates(survival, seconds), axis=-1) >= 0
    return np.asarray(pays.cumprod(axis=-1).sum(axis=-1))


def best_budget(survival: Floats, seconds: Floats) -> NDArray[np.int64]:
    """Returns the number of verified tokens that gives the most expected tokens per second.

    Arguments: see `walked`. If the next step uses this budget, the output is lossless. If the same
    step used it, the output's distribution would change.
    """
    return np.asarray(_rates(survival, seconds).argmax(axis=-1))


def verified_lengths(survival: Floats, budget: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns how many drafted tokens of each sequence are verified, shape (..., batch).

    budget: verified tokens of the whole batch, shape (...); survival: see `walked`.
    """
    *runs, batch, gamma = survival.shape
    order = np.argsort(-survival.reshape(*runs, batch * gamma), axis=-1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(batch * gamma), axis=-1)
    return np.asarray((rank < budget[..., None]).reshape(survival.shape).sum(axis=-1))


def _rates(survival: Floats, seconds: Floats) -> Floats:
    """Returns expected tokens/s for 0, …, batch * gamma verified tokens of highest survival."""
    *runs, batch, gamma = survival.shape
    ranked = -np.sort(-survival.reshape(*runs, batch * gamma), axis=-1)
    gained = np.concatenate([np.zeros((*runs, 1)), ranked.cumsum(axis=-1)], axis=-1)
    return np.asarray((batch + gained) / seconds)


# Number of emitted tokens to simulate, and number of sequences that are simulated at once.
PLAYED, TOGETHER = 200_000, 512
# Number of groups of steps that give the standard error, and of steps that are discarded first.
_GROUPS, _FIRST = 10, 5


class PlayedBatch(NamedTuple):
    """The speed of a simulated batch.

    seconds_per_token: time per emitted token of one sequence.
    error: standard error of log(seconds_per_token).
    verified_per_call: drafted tokens that one step verifies, per sequence.
    tokens_per_call: tokens that one step emits, per sequence.
    """

    seconds_per_token: float
    error: float
    verified_per_call: float
    tokens_per_call: float


class RankedTexts:
    """Texts that a batch decodes with verification by rank.

    Each sequence drafts γ tokens per block, and the server verifies only the drafted tokens of the
    batch that are likeliest to be accepted.

    longest: the longest recorded draft, L.
    """

    def __init__(self, texts: Sequence[tuple[Floats, Floats, NDArray[np.int64]]]) -> None:
        """Stores at least one text of N tokens, each as three arrays.

        The first has, for a block that begins at t, the probability that its k-th drafted token is
        accepted if all before it are, shape (N, L). The second has the survival (`walked`), shape
        (N, L). The third has the most tokens that a block at t drafts, shape (N,).
        """
        self._accepted, self._survival, self._room = map(np.concatenate, zip(*texts, strict=True))
        self.longest = self._survival.shape[1]
        self._sizes = np.array([len(room) for _, _, room in texts])
        self._text = np.repeat(np.arange(len(texts)), self._sizes)
        self._ends = self._sizes.cumsum()

    def play(
        self,
        gamma: int,
        seconds: Floats,
        *,
        batch: int,
        budget: Budget | None,
        generator: np.random.Generator,
    ) -> PlayedBatch:
        """Returns the simulated speed of a batch that verifies only some of the γ drafted tokens.

        Each sequence begins at a random position of a text, and then continues with other texts.

        gamma: drafted tokens per block, from 1 to `longest`.
        seconds: see `walked` and `step_seconds`.
        budget: how the server chooses the number of verified tokens; None simulates an oracle that
          knows which tokens will be accepted.
        """
        runs = max(1, TOGETHER // batch)
        place = generator.integers(len(self._room), size=(runs, batch))
        stale = np.ones((runs, batch, gamma))
        offsets = np.arange(gamma)
        steps = max(_GROUPS, PLAYED // (2 * runs * batch))
        sums = np.zeros((steps, 4, len(self._sizes)))
        for step in range(-_FIRST, steps):
            room = np.minimum(self._room[place], gamma)
            survival = self._survival[place, :gamma]
            draws = generator.random((runs, batch, gamma)) < self._accepted[place, :gamma]
            right = (draws & (offsets < room[..., None])).cumprod(axis=-1)
            # Tokens that are not drafted come last and are never verified.
            known = np.where(offsets < room[..., None], survival, 0.0)
            ranked = right.astype(np.float64) if budget is None else known
            if budget == "walk":
                chosen = walked(ranked, seconds)
            else:
                chosen = best_budget(ranked if budget is None else stale, seconds)
            lengths = np.minimum(verified_lengths(ranked, chosen), room)
            emitted = np.minimum(right.sum(axis=-1), lengths) + 1
            text = self._text[place]
            time = np.broadcast_to(seconds[lengths.sum(axis=-1)][:, None], place.shape)
            if step >= 0:
                for row, values in enumerate((time, emitted, lengths, np.ones_like(time))):
                    sums[step, row] = np.bincount(text.ravel(), values.ravel(), len(self._sizes))
            over = place + emitted >= self._ends[text]
            next_texts = generator.integers(len(self._sizes), size=place.shape)
            place = np.where(over, (self._ends - self._sizes)[next_texts], place + emitted)
            stale = np.where(over[..., None], 1.0, known)
        return _played(sums, self._sizes)


def _played(sums: Floats, sizes: NDArray[np.int64]) -> PlayedBatch:
    """Returns the speed of a batch from its simulation; texts are weighted by their tokens.

    sums: per step and text, over sequences: time, emitted tokens, verified tokens and number of
      sequences, shape (steps, 4, texts).
    sizes: tokens of each text, shape (texts,).
    """
    emitted = sums[:, 1].sum(axis=0)
    weight = np.divide(sizes, emitted, out=np.zeros(len(sizes)), where=emitted > 0)
    groups = np.array([part.sum(axis=0) @ weight for part in np.array_split(sums, _GROUPS)])
    time, tokens, verified, steps = groups.sum(axis=0)
    rates = np.log(groups[:, 0] / groups[:, 1])
    return PlayedBatch(
        seconds_per_token=float(time / tokens),
        error=float(rates.std(ddof=1) / np.sqrt(_GROUPS)),
        verified_per_call=float(verified / steps),
        tokens_per_call=float(tokens / steps),
    )
