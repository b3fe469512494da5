"""MLX: `mlx_lm` with a draft model, in this process, on Apple GPUs or a processor."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import mlx.core as mx
from huggingface_hub import snapshot_download
from mlx_lm.generate import generate_step, speculative_generate_step
from mlx_lm.sample_utils import make_sampler
from mlx_lm.utils import load_model

from engines.engine import Setting
from engines.kind import EngineSettings, Models
from engines.servers.in_process import Decoded, InProcessPair, InProcessServer
from estimator.timing.threads import CHOSEN_BY


class MlxServer(InProcessServer):
    """Decodes with a pair of MLX models in this process, or with the target if γ = 0."""

    def __init__(self, model: Any, draft: Any | None, setting: Setting) -> None:
        super().__init__(f"mlx_lm {version('mlx-lm')}", setting)
        self._model, self._draft = model, draft
        # This process's CPU clock if one thread computes. MLX computes in a thread of its own, so
        # this thread's CPU time cannot be used.
        one = mx.default_device() == mx.Device(mx.cpu) and os.environ.get(CHOSEN_BY) == "1"
        self._clock = time.process_time if one else time.perf_counter

    def blocks(
        self, prompt: Sequence[int], length: int, temperature: float, seed: int
    ) -> Iterator[Decoded]:
        mx.random.seed(seed)
        steps: Any
        sampler = make_sampler(temp=temperature)
        settings: dict[str, Any] = {"max_tokens": length, "sampler": sampler}
        ids = mx.array(list(prompt))
        if self._draft is None:
            steps = generate_step(ids, self._model, **settings)
        else:
            models, settings["num_draft_tokens"] = (self._model, self._draft), self.setting.gamma
            steps = speculative_generate_step(ids, *models, **settings)
        block: list[int] = []
        # The pass over the prompt's last token also verifies the first draft. If MLX drafted a
        # text's last token, it counts as the target's.
        for left, (token, _, *drafted) in zip(reversed(range(length)), steps, strict=True):
            block.append(int(token))
            if not any(drafted) or left == 0:
                yield block, self._clock(), None
                block = []


class Mlx(InProcessPair):
    """MLX with a target and a draft model.

    On a GPU models keep their stored number format. On a processor, where MLX is slow with 16-bit
    numbers, floating-point weights become float32.
    """

    one_text = "mlx, which decodes one text at a time with a draft"

    @classmethod
    def of_models(cls, models: Models, settings: EngineSettings) -> Self:
        return cls(models.target, models.draft)

    @property
    def flags(self) -> tuple[str, ...]:
        return (f"device={mx.default_device().type.name}",)

    def load(self, source: str) -> Any:
        folder = Path(source)
        model = load_model(folder if folder.is_dir() else Path(snapshot_download(source)))[0]
        if mx.default_device() == mx.Device(mx.cpu):
            # Quantised weights are integers, which stay as they are; their scales become float32.
            model.set_dtype(mx.float32)
        return model

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[MlxServer]:
        yield MlxServer(*self.models(setting), setting)
