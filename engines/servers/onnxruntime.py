"""ONNX Runtime GenAI: a target and a draft in one configuration, decoded in this process."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import onnxruntime_genai as genai
import torch

from engines.counting import NOTHING, Counts
from engines.engine import Completion, Setting
from engines.kind import EngineSettings, Models
from engines.servers.in_process import InProcessPair
from engines.text_scores import TextScores, scores_of
from estimator.timing.threads import chosen_threads
from estimator.writing import read_json

CONFIGURATION = "genai_config.json"
# The library's own limit of `max_draft_tokens`.
MOST_GAMMA = 16
BUILDER = "onnxruntime_genai.models.builder"


class OnnxServer:
    """A loaded model, or a pair of models with a γ, which is set for each text."""

    model = None
    version = f"onnxruntime-genai {version('onnxruntime-genai')}"

    def __init__(self, loaded: Any, setting: Setting, threads: int) -> None:
        """Stores the model. If there is one thread, its CPU time is measured."""
        self._loaded, self._gamma, self._counts = loaded, setting.gamma, NOTHING
        self._clock = time.thread_time if threads == 1 else time.perf_counter

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns a completion; its first tokens come from the first round.

        The pass over the prompt emits no token, so the first round is neither timed nor counted.
        Behind the text there is room for a whole draft: the last round drafts γ tokens, too.
        """
        generator = self._generator(
            prompt, max_new_tokens + self._gamma + 1,
            do_sample=temperature > 0, temperature=temperature if temperature > 0 else 1.0,
            top_k=0, top_p=1.0, random_seed=seed,
        )  # fmt: skip
        seconds, first, readings = 0.0, 1, list[Mapping[str, int]]()
        for number in range(max_new_tokens):
            began = self._clock()
            generator.generate_next_token()
            seconds += self._clock() - began
            if self._gamma > 0:
                found = generator.get_speculative_stats()
                if not readings or found["rounds"] > readings[-1]["rounds"]:
                    readings.append(found)
            if number == 0:
                seconds, first = 0.0, readings[0]["tokens_queued"] if readings else 1
        self._counts += _counts(readings, self._gamma)
        text = generator.get_sequence(0)[len(prompt) : len(prompt) + max_new_tokens]
        return Completion(tuple(text.tolist()), min(first, max_new_tokens), seconds)

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


def _counts(readings: Sequence[Mapping[str, int]], gamma: int) -> Counts:
    """Returns the counts of all rounds but the first; readings: statistics after each round.

    The library's own histogram of accepted lengths stays empty (0.18.0).
    """
    names = ("draft_tokens_proposed", "draft_tokens_accepted")
    found = NOTHING
    for before, after in pairwise(readings):
        drafted, accepted = (int(after[name]) - int(before[name]) for name in names)
        found += Counts.of(1, drafted, (1,) * accepted + (0,) * (gamma - accepted))
    return found


class OnnxRuntime(InProcessPair):
    """ONNX Runtime GenAI with a target and a draft: folders of its model builder."""

    one_text = "onnxruntime, whose speculation decodes one text at a time"

    def __init__(self, target: str, draft: str, folder: Path, threads: int) -> None:
        """Writes configurations of each model and of the pair into a folder."""
        super().__init__(str(folder / "target"), str(folder / "draft"))
        self.threads, self._pair = threads, str(folder / "pair")
        sources = {"target": Path(target).resolve(), "draft": Path(draft).resolve()}
        single = {name: _configuration(path, name, threads) for name, path in sources.items()}
        paired = single["target"] | {"model": dict(single["target"]["model"])}
        paired["model"]["draft"] = single["draft"]["model"]["decoder"]
        for name, whole in {**single, "pair": paired}.items():
            place = folder / name
            place.mkdir()
            # A path with `..` in a configuration is refused, a link is not.
            for other, path in sources.items():
                (place / other).symlink_to(path)
            (place / CONFIGURATION).write_text(json.dumps(whole), encoding="utf-8")

    @classmethod
    def of_models(cls, models: Models, settings: EngineSettings) -> Self:
        """Returns the engine; converts models that are not folders of the model builder."""
        target, draft = (
            _built(source, models.folder / f"onnx-{name}")
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
        yield OnnxServer(loaded, setting, self.threads)


def _configuration(source: Path, name: str, threads: int) -> dict[str, Any]:
    """Returns the configuration of a folder of the builder, whose files lie in folder `name`."""
    whole: dict[str, Any] = read_json(source / CONFIGURATION)
    decoder = whole["model"]["decoder"]
    decoder["filename"] = f"{name}/{decoder['filename']}"
    decoder.setdefault("session_options", {})["intra_op_num_threads"] = threads
    whole["model"]["eos_token_id"] = []  # nothing ends a text
    return whole


def _built(source: str, folder: Path) -> str:
    """Returns a folder of the model builder; converts other models in float32 for a processor."""
    if (Path(source) / CONFIGURATION).is_file():
        return source
    stated = ["-m", source, "-o", str(folder), "-p", "fp32", "-e", "cpu", "-c", f"{folder}-cache"]
    made = subprocess.run(
        [sys.executable, "-m", BUILDER, *stated], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        last = (made.stderr.strip().splitlines() or ["nothing"])[-1]
        raise ValueError(f"a model must be one that {BUILDER} converts, got {source}: {last}")
    return str(folder)
