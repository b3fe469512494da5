"""Where a cost applies: batch, machine and memory, and what limits drafts there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from simulator.cost.zero import SpeculatingZero

# Tokens in each sequence's cache, where nobody states them.
DEFAULT_CONTEXT = 1024


@dataclass(frozen=True, slots=True)
class Wall:
    """A server's limit for captured CUDA graphs. Larger steps launch their kernels one by one.

    Such a step can take three times as long: on a published grid of vLLM, batch 128 gave 22.2
    thousand tokens/s at K = 3 (512 tokens per step) and 8.0 at K = 5 (768 tokens).

    unit: "tokens" of a step, drafted ones included, or "requests".
    most: the largest captured step, at least 1.
    flag: the server's setting that changes the limit.
    read_in: file and version of the server's source that state the limit.

      >>> graphs = Wall("tokens", 512, "--max-cudagraph-capture-size", "")
      >>> graphs.beyond(128, 3), graphs.beyond(128, 5)
      (False, True)
    """

    unit: Literal["tokens", "requests"]
    most: int
    flag: str
    read_in: str

    def size(self, batch: Any, gamma: Any) -> Any:
        """Returns the size of a step in `unit`; γ = 0 is the baseline. Arguments may be arrays."""
        return batch * (gamma + 1) if self.unit == "tokens" else batch * (gamma * 0 + 1)

    def beyond(self, batch: Any, gamma: Any) -> Any:
        """Returns whether a step is larger than the largest captured step."""
        return self.size(batch, gamma) > self.most

    def crossed(self, batch: Any, gamma: Any) -> Any:
        """Returns whether a step exceeds the limit while the baseline's step does not."""
        return self.beyond(batch, gamma) > self.beyond(batch, 0)

    def most_batch(self, gamma: int) -> int:
        """Returns the largest batch whose steps are captured; 0 if none is."""
        return self.most // int(self.size(1, gamma))

    def most_gamma(self, batch: int, up_to: int) -> int:
        """Returns the largest γ, at most `up_to`, whose steps do not cross the limit."""
        if self.unit != "tokens" or self.beyond(batch, 0):
            return up_to
        return min(up_to, self.most // batch - 1)


@dataclass(frozen=True, slots=True)
class Load:
    """The load and the machine to which costs apply.

    A field is None if it is not known, unless stated otherwise.

    origin: source of the costs, for example "measured on cpu".
    context: tokens in each sequence's cache.
    gpu, dtype, tp, dp, ep: as stated by the user; dtype None: the format in each model's
      configuration.
    activations: number format of the target's activations.
    draft_kind: kind of draft (`simulator.cost.roofline.shapes.DraftKind`).
    draft_overhead: share of a draft step's time that is overhead per layer (kernel launches).
    speeds: 10th and 90th percentile of published speed / predicted speed of one sequence.
    cost_model: "kernels" (measured kernels) or "public" (roofline), which public measurements of
      servers correct, or "roofline" (the data sheet's, uncorrected); None if costs were measured.
    notes: warnings for readers of the costs.
    estimated: "between" or "beyond" if costs are inferred between or beyond the batches of runs.
    needed_gb, target_gb, memory_gb: GB a GPU of both models, of the target, and of its memory.
    most_batch: the largest batch that fits at this context.
    """

    origin: str
    context: int
    gpu: str | None = None
    dtype: str | None = None
    tp: int = 1
    dp: int = 1
    ep: int = 1
    activations: str | None = None
    draft_kind: str = "model"
    needed_gb: float | None = None
    draft_overhead: float | None = None
    speeds: tuple[float, float] | None = None
    cost_model: str | None = None
    notes: tuple[str, ...] = ()
    estimated: str | None = None
    memory_gb: float | None = None
    target_gb: float | None = None
    most_batch: int | None = None

    @property
    def fits(self) -> bool:
        """Whether the memory of each GPU suffices, as far as is known."""
        return self.needed_gb is None or self.memory_gb is None or self.needed_gb <= self.memory_gb

    @property
    def modelled(self) -> bool:
        """Whether a model of the machine gives the costs; false if they were measured."""
        return self.cost_model is not None


@dataclass(frozen=True, slots=True)
class CostSetting:
    """The load and machine of a cost, and limits of drafts there. Every field has a default.

    batch: sequences decoded together; each block is a pass over all of them.
    load: load and machine; None if the cost is not for a particular load.
    c_hat: operations of a draft step over operations of a target step; None if not known.
    longest: most tokens that the draft can draft; None if there is no limit.
    multiple: number of the draft's layers. A larger γ is a multiple of it: all layers run again.
    usual_gamma: number of drafted tokens in the draft's configuration; None if there is none.
    wall: the largest step that the server runs as a captured graph; None if no limit is known.
    draft_share: weights of a draft step over weights of a target step; None if not known.
    timed: the γ with measured speed-ups; only these are advised. Empty: any γ may be advised.
    zero: the price of drafting nothing on a server that speculates; None: not known.
    """

    batch: int = 1
    load: Load | None = None
    c_hat: float | None = None
    longest: int | None = None
    multiple: int = 1
    usual_gamma: int | None = None
    wall: Wall | None = None
    draft_share: float | None = None
    timed: tuple[int, ...] = ()
    zero: SpeculatingZero | None = None

    @property
    def fits(self) -> bool:
        """Whether the memory of each GPU suffices, as far as is known."""
        return self.load is None or self.load.fits

    def up_to(self, max_gamma: int) -> int:
        """Returns the smaller of `max_gamma` and `longest`."""
        return max_gamma if self.longest is None else min(max_gamma, self.longest)

    def beyond_graphs(self, gamma: Any) -> Any:
        """Returns whether a step exceeds the captured graphs; γ may be an array."""
        return self.wall is not None and self.wall.beyond(self.batch, gamma)

    def drafts(self, gamma: Any) -> Any:
        """Returns whether the draft can draft γ tokens; γ may be an array."""
        whole = (gamma <= self.multiple) | (gamma % self.multiple == 0)
        return whole if self.longest is None else whole & (gamma <= self.longest)

    def allows(self, gammas: Any) -> Any:
        """Returns whether the draft can draft each γ without crossing `wall`, shape (n,)."""
        able = self.drafts(gammas)
        return able if self.wall is None else able & ~self.wall.crossed(self.batch, gammas)
