"""Both models, their machine and their load, as settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Literal

# The cost model of the GPU's data sheet, which no server corrects.
DATA_SHEET = "roofline"


@dataclass(frozen=True, kw_only=True)
class OwnGpu:
    """A GPU that the catalogue lacks, from three options that are given together or not at all.

    gpu_flops: 16-bit teraFLOP/s, in place of --gpu.
    gpu_bandwidth: GPU memory bandwidth.
    gpu_memory: Memory size of the GPU.
    """

    gpu_flops: float | None = None
    gpu_bandwidth: float | None = None
    gpu_memory: float | None = None


@dataclass(frozen=True)
class Deployed(OwnGpu):
    """Both models and their machine.

    target_config: The target's config.json. It is needed for costs on a --gpu.
    draft_config: The draft's config.json. It is of a model, of a head (EAGLE, Medusa, DFlash, ...)
      or in the speculators format. For multi-token prediction, state the target's config again.
    engine: The server, with --target-config. Public measurements of it give its times
      outside the models.  [default: any]
    cost_model: With --target-config: kernels (latencies that NVIDIA measured),
      public (the roofline), both corrected by public measurements of servers, or roofline (the
      GPU's data sheet, no server).  [default: the first that covers the GPU]
    gpu: h100, 4070, rtx 4060 laptop, ..., or list. Several GPUs (h100,h200,l40s) give a row of
      plan, or an answer of traffic, each.
    tp: GPUs that share layers, or several.
    dp: Replicas of all layers but experts, of --tp GPUs each; --batch is of all of them together.
    ep: Parts into which a mixture's experts are divided as wholes; --tp times --dp GPUs hold them.
    draft_tp: GPUs that share the draft.  [default: --tp]
    dtype: Number format of both models' weights.  [default: each config's own]
    draft_dtype: Number format of the draft's weights.  [default: --dtype]
    draft_sampling: How the server drafts: the likeliest token, or at random, with passes over the
      vocabulary.  [default: as --profile was measured or --export's server drafts, else argmax]
    draft_launch: How the server launches the draft's kernels: it replays captured graphs, or is
      eager, one by one, as vLLM 0.23 with a draft model: 0.5 ms a layer.  [default: not known]
    activations: Format of activations.  [default: fp8 with --dtype fp8 on GPUs that multiply it,
      else the config's, or 16 bits]
    expert_reuse: How far tokens share experts, from 0 (uniform routing) to 1 (all use the same).
    efficiency: Share of the GPU's peak rates that kernels reach.  [default: 0.9, fitted]
    layer_overhead_us: Fixed time of each layer, microseconds.  [default: 92, fitted]
    no_cache: Count both models' parameters again, and do not save the result.
    """

    target_config: Path | None = None
    draft_config: Path | None = None
    _: KW_ONLY
    engine: str | None = None
    cost_model: str | None = None
    gpu: str | None = None
    tp: int | Sequence[int] = 1
    dp: int = 1
    ep: int = 1
    draft_tp: int | None = None
    dtype: str | None = None
    draft_dtype: str | None = None
    draft_sampling: Literal["sampled", "argmax"] | None = None
    draft_launch: Literal["graphs", "eager"] | None = None
    activations: str | None = None
    expert_reuse: float = 0.0
    efficiency: float | None = None
    layer_overhead_us: float | None = None
    no_cache: bool = False

    @property
    def machines(self) -> tuple[tuple[str | None, int], ...]:
        """Pairs of a GPU and a number of GPUs that share a layer: each `gpu` with each `tp`.

        The name is None if the GPU is stated by its rates (`OwnGpu`).
        """
        gpus = [None] if self.gpu is None else self.gpu.split(",")
        return tuple((gpu, tp) for gpu in gpus for tp in _listed(self.tp) or ())


@dataclass(frozen=True, kw_only=True)
class Loads:
    """Batch sizes and contexts.

    batch: Sequences decoded together: 8, 1,8 or 1:256:1.  [default: 1]
    context: Tokens in each cache, or several: 4096,16k or 1k:64k, which doubles.  [default: 1024]
    """

    batch: int | Sequence[int] | None = None
    context: int | Sequence[int] | None = None

    @property
    def batches(self) -> tuple[int, ...] | None:
        """The batch sizes; None: not stated."""
        return _listed(self.batch)

    @property
    def contexts(self) -> tuple[int, ...] | None:
        """Tokens in each sequence's cache, to plan for; None: not stated."""
        return _listed(self.context)

    @property
    def several(self) -> bool:
        """Whether a list was stated, even of one load."""
        return isinstance(self.batch, Sequence) or isinstance(self.context, Sequence)


def _listed(values: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if values is None:
        return None
    return (values,) if isinstance(values, int) else tuple(values)
