"""An engine, which serves a pair; its server, which decodes and counts; runs of prompts on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Literal, Protocol

from engines.counting import NOTHING, Counts
from estimator.traces.traces import DraftSampling

Prompts = Sequence[tuple[int, ...]]
# A temperature, and the number of simultaneous requests, at least 1.
Case = tuple[float, int]


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of one server.

    gamma: drafted tokens per block; 0: no speculation.
    draft_sampling: whether drafts are drawn from the draft's distribution or are its argmax.
    concurrency: largest number of simultaneous requests.
    model: "target": the target is served, with its draft if γ > 0; "draft": the draft by itself.
    synthetic: unconditional acceptance rates of the γ positions, which the server simulates; None:
      the server verifies drafts.
    p_min: confidence below which a draft ends, by the engine's own rule; 0: no draft ends early.
    """

    gamma: int
    draft_sampling: DraftSampling = "argmax"
    concurrency: int = 1
    model: Literal["target", "draft"] = "target"
    synthetic: tuple[float, ...] | None = None
    p_min: float = 0.0


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that an engine wrote.

    first: number of tokens that the pass over the prompt emitted, at least 1.
    seconds: seconds from these first tokens to the last token.
    """

    tokens: tuple[int, ...]
    first: int
    seconds: float


class EngineServer(Protocol):
    """A running server of a target and its draft, e.g. `engines.servers.in_process.OwnServer`."""

    @property
    def version(self) -> str:
        """Version of the engine."""

    @property
    def model(self) -> str | None:
        """The served model's name; None if the server does not report it."""

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns a text of exactly max_new_tokens ids; an end-of-text token does not end it."""

    def counts(self) -> Counts:
        """Returns the server's counters of drafts and acceptances since its start."""


class Engine(Protocol):
    """An engine with the target and the draft that it serves, e.g. `engines.servers.mlx.Mlx`."""

    @property
    def flags(self) -> tuple[str, ...]:
        """The engine's flags or settings, which are stored with the results."""

    def serve(self, setting: Setting) -> AbstractContextManager[EngineServer]:
        """Serves the pair with a setting until the context exits; yields the server."""


@dataclass(frozen=True, slots=True)
class EngineRun:
    """The texts that a server wrote; counts: one per text, or one total of simultaneous texts."""

    completions: tuple[Completion, ...]
    counts: tuple[Counts, ...]

    def __add__(self, other: EngineRun) -> EngineRun:
        return EngineRun(self.completions + other.completions, self.counts + other.counts)

    @property
    def total(self) -> Counts:
        return reduce(add, self.counts or (NOTHING,))

    @property
    def decoded(self) -> int:
        """Number of tokens that were decoded after the passes over the prompts."""
        return sum(len(text.tokens) - text.first for text in self.completions)

    @property
    def seconds(self) -> float:
        """Seconds of decoding, summed over all requests, even if they ran at the same time."""
        return sum(text.seconds for text in self.completions)

    def steps(self, *, drafts_past_end: bool) -> int:
        """Returns the number of target passes after the passes over the prompts.

        A pass emits its accepted tokens and one more, so that passes = decoded - accepted tokens.
        An engine that drafts past a text's end also counts accepted tokens that are not emitted.
        Such an engine drafts in every pass, so its number of drafts is returned.
        """
        total = self.total
        if drafts_past_end and total.drafts > 0:
            return total.drafts
        in_prompts = sum(text.first - 1 for text in self.completions)
        return self.decoded - (total.accepted - in_prompts)

    def work(self, *, drafts_past_end: bool) -> list[tuple[float, int, int]]:
        """Returns (seconds, target passes, decoded tokens) for each item of `counts`."""
        return [
            (part.seconds, part.steps(drafts_past_end=drafts_past_end), part.decoded)
            for part in self.parts
        ]

    @property
    def parts(self) -> list[EngineRun]:
        """A run for each item of `counts`."""
        if len(self.counts) < len(self.completions):
            return [self]
        texts = zip(self.completions, self.counts, strict=True)
        return [EngineRun((text,), (counted,)) for text, counted in texts]

    def obeys(self, gamma: int, *, drafts_past_end: bool) -> bool:
        """Returns whether the blocks drafted γ tokens.

        The last blocks of a text may draft γ-1, γ-2, …, 1 tokens, unless they draft past its end.
        A server without any draft obeys only γ = 0, or where no text had room for a draft.
        """
        total = self.total
        if gamma > 0 and total.drafts == 0:
            return self.decoded <= (0 if drafts_past_end else len(self.completions))
        most = gamma * total.drafts
        short = 0 if drafts_past_end else len(self.completions) * gamma * (gamma - 1) // 2
        return most - short <= total.drafted <= most


def run(
    server: EngineServer,
    prompts: Prompts,
    case: Case,
    seed: int,
    *,
    speculative: bool,
    max_new_tokens: int,
    progress: Callable[[], object] = lambda: None,
) -> EngineRun:
    """Returns the texts that a server writes for prompts, and its counts of drafts.

    server: a server without other requests; its counters are read before and after the texts.
    case: temperature, and number of simultaneous requests.
    seed: seed of the first prompt's text; each further prompt adds 1.
    speculative: whether the server drafts; if not, its counters are not read.
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
