"""transformers: `generate` with an assistant model, in this process, observed by a streamer."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from engines.engine import Setting
from engines.kind import EngineSettings, Models
from engines.servers.in_process import Decoded, InProcessPair, InProcessServer
from engines.text_scores import load_causal
from estimator.timing.threads import chosen_threads, computing


class Transformers(InProcessPair):
    """transformers' assisted generation with a fixed γ, in float32 on this machine's CPUs."""

    one_text = "transformers, whose assisted generation decodes one text at a time"

    def __init__(self, target: str, draft: str, threads: int = 1) -> None:
        """Stores names or folders, and the number of threads. One thread is timed by CPU time."""
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
        import transformers

        super().__init__(str(transformers.__version__), setting)
        self._model, self._assistant = model, assistant
        for module in filter(None, (model, assistant)):
            module.generation_config.eos_token_id = None
            module.generation_config.pad_token_id = 0

    def blocks(
        self, prompt: Sequence[int], length: int, temperature: float, seed: int
    ) -> Iterator[Decoded]:
        import torch

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
    """A streamer that records the new tokens and the time of each block; the prompt comes first."""

    def __init__(self) -> None:
        import torch

        from estimator.timing.turns import processor_clock

        self.found: list[Decoded] = []
        self._clock = processor_clock(torch.device("cpu")) or time.perf_counter

    def put(self, value: Any) -> None:
        self.found.append((value.flatten().tolist(), self._clock(), None))

    def end(self) -> None:
        """Does nothing."""
