"""ONNX Runtime GenAI: a target and a draft in one configuration, decoded in this process."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any, Self

import numpy as np
import onnxruntime_genai as genai
import torch

from engines.counting import NOTHING, Counts
from engines.engine import Completion, Setting
from engines.kind import EngineSettings, Models
from engines.servers.in_process import InProcessPair
from engines.servers.onnx_files import built, write_pair
from engines.text_scores import TextScores, scores_of
from estimator.timing.threads import chosen_threads

# The library's own limit of `max_draft_tokens`.
MOST_GAMMA = 16


class OnnxServer:
    """A loaded model, or a pair of models with a γ, which is set for each text."""

    model = None
    version = f"onnxruntime-genai {version('onnxruntime-genai')}"

    def __init__(self, loaded: Any, setting: Setting, *, threads: int, end: int) -> None:
        """Stores the model and the id that ends texts. One thread: its CPU time is measured."""
        self._loaded, self._gamma, self._counts = loaded, setting.gamma, NOTHING
        self._end = end
        self._clock = time.thread_time if threads == 1 else time.perf_counter

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns a completion; its first tokens come from the first round.

        The pass over the prompt emits no token, so the first round is neither timed nor counted.
        Behind the text there is room for a whole draft: the last round drafts γ tokens, too.
        """
        if 0 < self._gamma > max_new_tokens - 2:
            raise ValueError(
                f"max_new_tokens must be at least gamma + 2 = {self._gamma + 2} with onnxruntime, "
                f"whose first round is not counted, got {max_new_tokens}"
            )
        generator = self._generator(
            prompt, max_new_tokens + self._gamma + 1,
            do_sample=temperature > 0, temperature=temperature if temperature > 0 else 1.0,
            top_k=0, top_p=1.0, random_seed=seed,
        )  # fmt: skip
        seconds, rounds = 0.0, list[Round]()
        for emitted in range(max_new_tokens):
            began = self._clock()
            generator.generate_next_token()
            seconds = seconds + self._clock() - began if emitted > 0 else 0.0
            if self._gamma > 0:
                stats = generator.get_speculative_stats()
                if not rounds or stats["rounds"] > rounds[-1][1]["rounds"]:
                    rounds.append((emitted, stats))
            if generator.is_done():  # it does not append the id that ends texts
                generator.append_tokens(np.array([self._end], dtype=np.int32))
        self._counts += _counts(rounds, self._gamma)
        text = generator.get_sequence(0)[len(prompt) : len(prompt) + max_new_tokens]
        return Completion(tuple(text.tolist()), rounds[1][0] if rounds else 1, seconds)

    def counts(self) -> Counts:
        return self._counts

    def score(self, prompt: Sequence[int], tokens: Sequence[int]) -> TextScores:
        """Returns the served model's scores of a text, of one pass over it."""
        generator = self._generator([*prompt, *tokens], 1)
        logits = torch.from_numpy(generator.get_output("logits")[0, len(prompt) - 1 : -1])
        return scores_of(logits, tokens)

    def _generator(self, prompt: Sequence[int], room: int, **search: Any) -> Any:
        parameters = genai.GeneratorParams(self._loaded)
        parameters.set_search_options(max_length=len(prompt) + room, **search)
        if self._gamma > 0:
            parameters.set_speculative_options(max_draft_tokens=self._gamma)
        generator = genai.Generator(self._loaded, parameters)
        generator.append_tokens(np.array(prompt, dtype=np.int32))
        return generator


# The number of tokens before a round, and the library's statistics after it.
Round = tuple[int, Mapping[str, int]]


def _counts(rounds: Sequence[Round], gamma: int) -> Counts:
    """Returns the counts of all rounds but the first.

    The library's own histogram of accepted lengths stays empty (0.18.0). It discards what a round
    accepted behind the id that ends texts; discarded tokens are not counted.
    """
    names, counts = ("draft_tokens_proposed", "draft_tokens_accepted"), NOTHING
    starts = [start for start, _ in rounds[2:]]
    for (start, after), (_, before), end in zip_longest(rounds[1:], rounds[:-1], starts):
        drafted, accepted = (int(after[name]) - int(before[name]) for name in names)
        accepted = accepted if end is None else min(accepted, end - start)
        counts += Counts.of(1, drafted, (1,) * accepted + (0,) * (gamma - accepted))
    return counts


class OnnxRuntime(InProcessPair):
    """ONNX Runtime GenAI with a target and a draft: folders of its model builder."""

    one_text = "onnxruntime, whose speculation decodes one text at a time"

    def __init__(self, target: str, draft: str, folder: Path, threads: int) -> None:
        """Writes configurations of each model and of the pair into a folder."""
        super().__init__(str(folder / "target"), str(folder / "draft"))
        self.threads, self._pair = threads, str(folder / "pair")
        self._end = write_pair(target, draft, folder, threads=threads)

    @classmethod
    def of_models(cls, models: Models, settings: EngineSettings) -> Self:
        """Returns the engine; converts models that are not folders of the model builder."""
        target, draft = (
            built(source, models.folder / f"onnx-{name}")
            for name, source in (("target", models.target), ("draft", models.draft))
        )
        folder = models.folder / "onnx"
        folder.mkdir()
        return cls(target, draft, folder, chosen_threads(settings.threads))

    @property
    def flags(self) -> tuple[str, ...]:
        return (f"threads={self.threads}", "min_adaptive_k=0", "cooldown=false")

    def load(self, source: str) -> Any:
        return genai.Model(source)

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[OnnxServer]:
        self.require_one_text(setting)
        if setting.gamma > MOST_GAMMA:
            raise ValueError(
                f"gamma must be at most {MOST_GAMMA} with onnxruntime, got {setting.gamma}"
            )
        alone = self.target if setting.model == "target" else self.draft
        loaded = self._loaded(self._pair if setting.gamma > 0 else alone)
        yield OnnxServer(loaded, setting, threads=self.threads, end=self._end)
