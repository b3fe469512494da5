"""Engines that decode in this process: specplan's own decoder, and transformers' `generate`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from itertools import chain
from typing import Any, ClassVar

import torch

from engines.counting import NOTHING, Counts
from engines.engine import Completion, Setting
from engines.kind import EngineSettings, Models
from engines.text_scores import load_causal
from estimator.timing.arms import timed_blocks
from estimator.timing.threads import chosen_threads, computing
from estimator.timing.turns import processor_clock
from reference.speculative import Subject


class InProcessPair(ABC):
    """A target and a draft, loaded once, that decode one text at a time in this process.

    Example: `Transformers`.
    """

    # The engine and why it takes no simultaneous requests, for the message that refuses them.
    one_text: ClassVar[str]

    def __init__(self, target: str, draft: str) -> None:
        self.target, self.draft = target, draft
        self._loaded = cache(self.load)

    @abstractmethod
    def load(self, source: str) -> Any:
        """Loads and returns a model; source: its name or folder."""

    def models(self, setting: Setting) -> tuple[Any, Any | None]:
        """Returns the model that decodes, and its draft; None in place of the draft if γ = 0."""
        self.require_one_text(setting)
        target, draft = self._loaded(self.target), self._loaded(self.draft)
        return target if setting.model == "target" else draft, draft if setting.gamma > 0 else None

    def require_one_text(self, setting: Setting) -> None:
        """Refuses simultaneous requests."""
        if setting.concurrency != 1:
            raise ValueError(
                f"concurrency must be 1 with {self.one_text}, got {setting.concurrency}"
            )


# The tokens of a block, the time of its end, and its number of drafted tokens; None: γ, or fewer
# where the text has no room for γ tokens and one more.
Decoded = tuple[Sequence[int], float, int | None]


class InProcessServer(ABC):
    """A server in this process: decodes texts and counts drafts. Subclasses define `blocks`."""

    model = None

    def __init__(self, engine_version: str, setting: Setting) -> None:
        self.version, self.setting, self._counts = engine_version, setting, NOTHING

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns a completion; its first block is the pass over the prompt. See `EngineServer`."""
        texts, times, gamma, room = list[Sequence[int]](), [], self.setting.gamma, max_new_tokens
        for tokens, end, drafted in self.blocks(prompt, max_new_tokens, temperature, seed):
            texts.append(tokens)
            times.append(end)
            drafted = min(gamma, room - 1) if drafted is None else drafted
            if drafted > 0:
                accepted = len(tokens) - 1
                hits = (1,) * accepted + (0,) * (gamma - accepted)
                self._counts += Counts.of(1, drafted, hits)
            room -= len(tokens)
        return Completion(tuple(chain(*texts)), len(texts[0]), times[-1] - times[0])

    def counts(self) -> Counts:
        return self._counts

    @abstractmethod
    def blocks(
        self, prompt: Sequence[int], length: int, temperature: float, seed: int
    ) -> Iterator[Decoded]:
        """Yields the blocks of a text of `length` tokens after a prompt."""


class OwnServer(InProcessServer):
    """specplan's own decoder. Its `Subject` sets the length and the temperature of texts."""

    def __init__(self, subject: Subject, setting: Setting) -> None:
        super().__init__(f"specplan {version('specplan')}", setting)
        self._subject = subject

    def blocks(
        self, prompt: Sequence[int], _length: int, _temperature: float, seed: int
    ) -> Iterator[Decoded]:
        gamma, p_min = self.setting.gamma, self.setting.p_min
        for block, end in timed_blocks(self._subject, prompt, gamma=gamma, p_min=p_min, seed=seed):
            yield block.tokens, end, len(block.drafted)


class Transformers(InProcessPair):
    """transformers' assisted generation with a fixed γ, in float32 on this machine's CPUs."""

    one_text = "transformers, whose assisted generation decodes one text at a time"

    def __init__(self, target: str, draft: str, threads: int = 1) -> None:
        """Stores the models' names or folders. If there is one thread, CPU time is measured."""
        super().__init__(target, draft)
        self.threads = threads

    @classmethod
    def of_models(cls, models: Models, settings: EngineSettings) -> Transformers:
        return cls(models.target, models.draft, chosen_threads(settings.threads))

    @property
    def flags(self) -> tuple[str, ...]:
        schedule = "num_assistant_tokens_schedule=constant"
        return (f"threads={self.threads}", schedule, "assistant_confidence_threshold=0")

    def load(self, source: str) -> Any:
        return load_causal(source)

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[TransformersServer]:
        models = self.models(setting)
        with computing("cpu", self.threads):
            yield TransformersServer(*models, setting)


class TransformersServer(InProcessServer):
    """Decodes with a pair of transformers models in this process."""

    def __init__(self, model: Any, assistant: Any | None, setting: Setting) -> None:
        super().__init__(version("transformers"), setting)
        self._model, self._assistant = model, assistant
        for module in filter(None, (model, assistant)):
            module.generation_config.eos_token_id = None
            module.generation_config.pad_token_id = 0

    def blocks(
        self, prompt: Sequence[int], length: int, temperature: float, seed: int
    ) -> Iterator[Decoded]:
        sampled = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
        blocks = _Blocks()
        if self._assistant is not None:
            # Servers of other γ share the assistant.
            settings = self._assistant.generation_config
            settings.num_assistant_tokens = self.setting.gamma
            settings.num_assistant_tokens_schedule = "constant"
            settings.assistant_confidence_threshold = self.setting.p_min
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._model.generate(
                torch.tensor([list(prompt)]),
                attention_mask=torch.ones(1, len(prompt), dtype=torch.int64),
                max_new_tokens=length,
                assistant_model=self._assistant,
                streamer=blocks,
                **({"do_sample": False} if temperature == 0 else sampled),
            )
        # The pass over the prompt also verifies the first draft.
        yield from blocks.found[1:]


class _Blocks:
    """A streamer that records each block's new tokens and time; its first record is the prompt."""

    def __init__(self) -> None:
        self.found: list[Decoded] = []
        self._clock = processor_clock(torch.device("cpu")) or time.perf_counter

    def put(self, value: Any) -> None:
        self.found.append((value.flatten().tolist(), self._clock(), None))

    def end(self) -> None:
        """Does nothing; transformers calls it at a text's end."""
