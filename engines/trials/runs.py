"""Runs prompts on a server, one at a time or several at once, and reads its counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

from engines.counting import NOTHING, Counts
from engines.engine import Completion, EngineServer

Prompts = Sequence[tuple[int, ...]]
# A temperature, and the number of simultaneous requests, at least 1.
Case = tuple[float, int]


@dataclass(frozen=True, slots=True)
class EngineRun:
    """The texts that a server wrote for some prompts.

    counts: one entry per prompt if prompts ran one at a time; else one entry with the sum.
    """

    completions: tuple[Completion, ...]
    counts: tuple[Counts, ...]

    def __add__(self, other: EngineRun) -> EngineRun:
        return EngineRun(self.completions + other.completions, self.counts + other.counts)

    @property
    def total(self) -> Counts:
        return sum(self.counts, NOTHING)

    @property
    def decoded(self) -> int:
        """Number of tokens that did not come from passes over prompts."""
        return sum(len(text.tokens) - text.first for text in self.completions)

    @property
    def seconds(self) -> float:
        """Seconds of decoding, summed over all requests, even if they ran at the same time."""
        return sum(text.seconds for text in self.completions)

    @property
    def parts(self) -> tuple[EngineRun, ...]:
        """One run per text if texts were counted separately; else this run."""
        if len(self.counts) != len(self.completions):
            return (self,)
        texts = zip(self.completions, self.counts, strict=True)
        return tuple(EngineRun((text,), (counted,)) for text, counted in texts)

    def steps(self, *, drafts_past_end: bool) -> int:
        """Returns the number of target passes after the passes over the prompts.

        A pass emits one token more than it accepted. An engine that drafts past a text's end also
        counts tokens accepted there. Every pass of such an engine drafts, so its number of drafts
        is the number of passes.
        """
        total = self.total
        if drafts_past_end and total.drafts > 0:
            return total.drafts
        in_prompts = sum(text.first - 1 for text in self.completions)
        return self.decoded - (total.accepted - in_prompts)

    def require_gamma(self, gamma: int, *, drafts_past_end: bool) -> None:
        """Refuses a run whose blocks did not draft γ tokens, as on a server with another γ.

        If blocks draft no further than a text's end, each text may have one block that is 1 token
        short, one that is 2 tokens short, and so on up to γ-1.
        """
        total = self.total
        most = gamma * total.drafts
        short = 0 if drafts_past_end else len(self.completions) * gamma * (gamma - 1) // 2
        if not most - short <= total.drafted <= most:
            raise ValueError(
                "gamma must be what the server drafts, "
                f"{total.drafted / total.drafts:.1f} tokens a block, got {gamma}"
            )


def run(
    server: EngineServer,
    prompts: Prompts,
    case: Case,
    *,
    speculative: bool,
    max_new_tokens: int,
    seed: int,
    progress: Callable[[], object] = lambda: None,
) -> EngineRun:
    """Returns the texts that a server writes for prompts, and its counts of drafts.

    server: must have no other requests, because its counters are read before and after.
    speculative: whether the server drafts and therefore counts drafts.
    seed: seed of the first prompt's text; each further prompt adds 1.
    progress: called after each text.
    """
    (temperature, concurrency), numbers = case, range(len(prompts))

    def one(number: int) -> Completion:
        settings = {"max_new_tokens": max_new_tokens, "seed": seed + number}
        text = server.complete(prompts[number], temperature=temperature, **settings)
        progress()
        return text

    def read() -> Counts:
        return server.counts() if speculative else NOTHING

    readings, texts = [read()], list[Completion]()
    if concurrency > 1:
        with ThreadPoolExecutor(concurrency) as pool:
            texts = list(pool.map(one, numbers))
        readings.append(read())
    else:
        for number in numbers:
            texts.append(one(number))
            readings.append(read())
    counts = [after.since(before) for before, after in pairwise(readings)]
    return EngineRun(tuple(texts), tuple(counts))
