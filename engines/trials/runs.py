"""Prompts run on a server, one after the other or several at once, and what was counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

from engines.counting import NOTHING, Counts
from engines.engine import Completion, EngineServer

Prompts = Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class EngineRun:
    """The texts that a server wrote for some prompts.

    counts: counts of each prompt if prompts ran one at a time, else the sum in one entry; empty
      without speculation.
    """

    completions: tuple[Completion, ...]
    counts: tuple[Counts, ...]

    @property
    def total(self) -> Counts:
        """The counts of all prompts."""
        return sum(self.counts, NOTHING)

    def steps(self, *, drafts_past_end: bool) -> int:
        """Returns target passes after those over the prompts.

        Each adds one token to what it accepted. An engine that drafts past a text's end counts
        what it accepted there, too; but then every pass drafts, and counts itself.
        """
        total = self.total
        if drafts_past_end and total.drafts > 0:
            return total.drafts
        in_prompts = sum(text.first - 1 for text in self.completions)
        return self.decoded - (total.accepted - in_prompts)

    def require_gamma(self, gamma: int, *, drafts_past_end: bool) -> None:
        """Refuses a run whose blocks drafted another number of tokens than γ.

        Blocks that draft no further than a text's end fall short of it, at most once by each of 1,
        …, γ-1 tokens a text.

        Raises:
          ValueError: if so: a server has a γ of its own, and an engine may take no larger one.
        """
        most = gamma * self.total.drafts
        short = 0 if drafts_past_end else len(self.completions) * gamma * (gamma - 1) // 2
        if not most - short <= self.total.drafted <= most:
            raise ValueError(
                "gamma must be what the server drafts, "
                f"{self.total.drafted / self.total.drafts:.1f} tokens a block, got {gamma}"
            )

    @property
    def parts(self) -> tuple[EngineRun, ...]:
        """The texts one by one, where they are counted so; else all of them together."""
        if len(self.counts) != len(self.completions):
            return (self,)
        return tuple(
            EngineRun((text,), (counted,))
            for text, counted in zip(self.completions, self.counts, strict=True)
        )

    def __add__(self, other: EngineRun) -> EngineRun:
        return EngineRun(self.completions + other.completions, self.counts + other.counts)

    @property
    def decoded(self) -> int:
        """Tokens after those that the passes over the prompts gave."""
        return sum(len(text.tokens) - text.first for text in self.completions)

    @property
    def seconds(self) -> float:
        """Decoding time summed over requests, including concurrent ones."""
        return sum(text.seconds for text in self.completions)


def run(
    server: EngineServer,
    prompts: Prompts,
    *,
    speculative: bool,
    max_new_tokens: int,
    temperature: float,
    concurrency: int,
    seed: int,
    progress: Callable[[], object],
) -> EngineRun:
    """Returns the texts of prompts, `concurrency` of them at once, and the engine's counts.

    Args:
      server: up and otherwise idle, since its counters are read before and after.
      speculative: whether it drafts and therefore counts.
      concurrency: requests in flight, at least 1; a new one begins as one ends.
      seed: for the first prompt's text; the next prompts take the next seeds.
    """

    def one(number: int) -> Completion:
        text = server.complete(
            prompts[number],
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            seed=seed + number,
        )
        progress()
        return text

    def read() -> Counts:
        return server.counts() if speculative else NOTHING

    readings = [read()]
    if concurrency > 1:
        with ThreadPoolExecutor(concurrency) as pool:
            texts = list(pool.map(one, range(len(prompts))))
        readings.append(read())
    else:
        texts = []
        for number in range(len(prompts)):
            texts.append(one(number))
            readings.append(read())
    counts = [after.since(before) for before, after in pairwise(readings)]
    return EngineRun(tuple(texts), tuple(counts))
