"""Computes what the gamma of a tuning loses against the best one of a second sweep.

The sweep has its gammas and the tuned one in turns on the same prompts, twice. One pass chooses the
best gamma, the other one says how much faster it is than the tuned one, and the other way round:
chosen and judged by the same turns, the best of nine would look better than it is. A gamma's time
is its step's time over its length. At temperature 0 every gamma writes the same texts, and its
length is what it took for them; above, texts differ by chance, and the length follows from the
acceptance by position of all gammas together.
"""

from typing import Any

import numpy as np

RESAMPLES = 1000
# Blocks of one text are alike (simulator.acceptance.accepted): so many count as one.
ALIKE = 2.6


class Swept:
    """One pass of a sweep at one load: step times by gamma and turn, and lengths."""

    def __init__(self, rows: list[dict[str, Any]], *, drawn: bool, together: bool) -> None:
        """Reads runs; drawn: whether texts were drawn; together: whether gammas shared turns."""
        self.gammas = [row["gamma"] for row in rows]
        self.drawn, self.together = drawn, together
        steps = [{turn: spent / n for _, turn, spent, n, _ in row["turns"]} for row in rows]
        shared = sorted(set.intersection(*map(set, steps)))
        self.logs = np.log(
            [[turns[turn] for turn in shared] if together else [*turns.values()] for turns in steps]
        )
        work = [np.sum([turn[3:] for turn in row["turns"]], axis=0) for row in rows]
        self.lengths = np.log([tokens / passes for passes, tokens in work])
        self.counts = [
            (row["gamma"], row["drafts"] / ALIKE, np.array([1.0, *row["rates"]]))
            for row in rows
            if row["rates"]
        ]

    def token_logs(self, draws: Any) -> Any:
        """Returns the logarithm of each gamma's time a token; draws: resamples all, unless None."""
        logs, lengths = self.logs, self.lengths
        if draws is not None:
            count = logs.shape[1]
            shape = count if self.together else (len(logs), count)
            logs = np.take_along_axis(
                logs, np.broadcast_to(draws.integers(count, size=shape), logs.shape), axis=1
            )
        if self.together:
            logs = logs - logs[:1]
        if self.drawn and self.counts:
            lengths = np.log(self._pooled(draws))
        return np.median(logs, axis=1) - lengths

    def _pooled(self, draws: Any) -> Any:
        longest = max(self.gammas)
        stood, reached = np.zeros(longest), np.zeros(longest)
        for gamma, blocks, rates in self.counts:
            stood[:gamma] += blocks * rates[1:]
            reached[:gamma] += blocks * rates[:-1]
        rates = stood / np.maximum(reached, 1e-9)
        if draws is not None:
            rates = draws.beta(stood + 0.5, reached - stood + 0.5)
        tokens = np.cumsum([1.0, *np.cumprod(rates)])
        return tokens[self.gammas]


def loss(key: str, result: dict[str, Any]) -> tuple[Any, int]:
    """Returns the share of speed lost, then resamples of it, and the sweep's best gamma."""
    *_, temperature, load = key.split("|")
    passes = [
        [row for row in rows if row["concurrency"] == int(load)]
        for rows in result["sweep"]["passes"]
    ]
    together = len(passes) > 1
    if not together:
        # Servers ran one after the other: every other turn is a pass.
        passes = [
            [{**row, "turns": row["turns"][start::2]} for row in passes[0]] for start in (0, 1)
        ]
    halves = [Swept(rows, drawn=float(temperature) > 0, together=together) for rows in passes]
    gammas = halves[0].gammas
    advised = gammas.index(result["gamma"])
    candidates = [index for index, gamma in enumerate(gammas) if gamma in result["sweep"]["gammas"]]

    def lost(draws: Any) -> float:
        times = [half.token_logs(draws) for half in halves]
        behind = []
        for chosen, judged in (times, times[::-1]):
            best = min(candidates, key=lambda index: chosen[index])
            behind.append(judged[advised] - judged[best])
        return float(1 - np.exp(-np.mean(behind)))

    draws = np.random.default_rng(0)
    whole = np.mean([half.token_logs(None) for half in halves], axis=0)
    best = gammas[min(candidates, key=lambda index: whole[index])]
    return np.array([lost(None), *(lost(draws) for _ in range(RESAMPLES))]), best
