"""OpenVINO GenAI: a pipeline of a target and a draft, in this process."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
import openvino as ov
import openvino_genai as genai
import torch

from engines.engine import Setting
from engines.kind import EngineSettings, Models
from engines.servers.in_process import Decoded, InProcessPair, InProcessServer
from engines.servers.openvino_files import MODEL, converted
from engines.text_scores import TextScores, scores_of
from estimator.timing.threads import chosen_threads

# GB of a pipeline's cache; a cache of its own size fails at temperature 1 (2026.4).
CACHE = 1


class OpenVinoServer(InProcessServer):
    """Decodes with a pipeline of a pair, whose γ is set for each text, or of one model."""

    def __init__(
        self, pipeline: Any, setting: Setting, *, threads: int, scorer: Callable[[], Any]
    ) -> None:
        """Stores the pipeline. If there is one thread, the process's CPU time is measured.

        scorer: returns the served model without a pipeline, compiled to score texts.
        """
        super().__init__(f"openvino-genai {version('openvino-genai')}", setting)
        self._pipeline, self._scorer = pipeline, scorer
        self._clock = time.process_time if threads == 1 else time.perf_counter

    def blocks(
        self, prompt: Sequence[int], length: int, temperature: float, seed: int
    ) -> Iterator[Decoded]:
        blocks = _Streamed(self._clock)
        ids = ov.Tensor(np.array([prompt], dtype=np.int64))
        self._pipeline.generate(ids, self._settings(length, temperature, seed), blocks)
        return iter(blocks.found)

    def score(self, prompt: Sequence[int], tokens: Sequence[int]) -> TextScores:
        """Returns the served model's scores of a text, of one pass over it."""
        ids = np.array([[*prompt, *tokens]], dtype=np.int64)
        request = self._scorer().create_infer_request()
        outputs = request.infer(
            {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "position_ids": np.arange(ids.shape[1])[np.newaxis],
                "beam_idx": np.zeros(1, dtype=np.int32),
            }
        )
        logits = torch.from_numpy(outputs["logits"][0, len(prompt) - 1 : -1].copy())
        return scores_of(logits, tokens)

    def _settings(self, length: int, temperature: float, seed: int) -> Any:
        settings = genai.GenerationConfig()
        settings.max_new_tokens, settings.ignore_eos = length, True
        if temperature > 0:
            settings.do_sample, settings.temperature, settings.rng_seed = True, temperature, seed
        if self.setting.gamma > 0:  # 0 in a pipeline of a pair means 5
            settings.num_assistant_tokens = self.setting.gamma
            settings.assistant_confidence_threshold = self.setting.p_min
        return settings


class _Streamed(genai.StreamerBase):  # type: ignore[misc]
    """Records each block's tokens and time as the pipeline streams them.

    The library's own sizes of blocks (`m_batch_sizes`) count one token too many in each block that
    rejects a drawn draft, and its count of accepted tokens omits the last block (2026.4).
    """

    def __init__(self, clock: Any) -> None:
        super().__init__()
        self.found: list[Decoded] = []
        self._clock = clock

    def write(self, tokens: int | Sequence[int]) -> Any:
        block = [tokens] if isinstance(tokens, int) else list(tokens)
        # The pass over the prompt verifies no draft.
        self.found.append((block, self._clock(), None if self.found else 0))
        return genai.StreamingStatus.RUNNING

    def end(self) -> None:
        """Does nothing; the library calls it at a text's end."""


class OpenVino(InProcessPair):
    """OpenVINO GenAI with a target and a draft on the processor, in float32."""

    one_text = "openvino, which decodes one text at a time here"

    def __init__(self, target: str, draft: str, threads: int) -> None:
        """Stores the folders of both models in OpenVINO's format."""
        super().__init__(target, draft)
        self.threads = threads
        self._compiled = cache(self._compile)

    @classmethod
    def of_models(cls, models: Models, settings: EngineSettings) -> Self:
        """Returns the engine; converts models that are not in OpenVINO's format."""
        target, draft = (
            converted(Path(source), Path(models.target), models.folder / f"openvino-{name}")
            for name, source in (("target", models.target), ("draft", models.draft))
        )
        return cls(str(target), str(draft), chosen_threads(settings.threads))

    @property
    def flags(self) -> tuple[str, ...]:
        return (f"threads={self.threads}", "precision=f32", "assistant_confidence_threshold=0")

    def load(self, source: str) -> Any:
        """Returns a pipeline of one model; of the pair, if `source` is empty."""
        devices = self._settings
        scheduler = genai.SchedulerConfig()
        scheduler.cache_size, scheduler.enable_prefix_caching = CACHE, False
        draft = {} if source else {"draft_model": genai.draft_model(self.draft, "CPU", **devices)}
        model = source if source else self.target
        return genai.LLMPipeline(model, "CPU", scheduler_config=scheduler, **devices, **draft)

    @property
    def _settings(self) -> dict[str, Any]:
        kinds = ("INFERENCE_PRECISION_HINT", "KV_CACHE_PRECISION")
        return {"INFERENCE_NUM_THREADS": self.threads} | dict.fromkeys(kinds, "f32")

    def _compile(self, source: str) -> Any:
        return ov.Core().compile_model(Path(source) / MODEL, "CPU", self._settings)

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[OpenVinoServer]:
        self.require_one_text(setting)
        alone = self.target if setting.model == "target" else self.draft
        pipeline = self._loaded("" if setting.gamma > 0 else alone)
        scorer = partial(self._compiled, alone)
        yield OpenVinoServer(pipeline, setting, threads=self.threads, scorer=scorer)
