"""The shape of a model and of a draft: weights of each kind, and the caches of the layers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from simulator.cost.roofline.matrices import Matrix

WeightKind = Literal["embedding", "attention", "feed-forward", "experts", "head", "other"]
CacheKind = Literal["full", "sliding", "chunked", "linear", "latent", "indexed"]
_SIZE = re.compile(r"(?<![\w.])(A)?(\d+(?:\.\d+)?)([BM])(?![A-Za-z0-9])", re.IGNORECASE)
# A head's name has its target's size.
_HEAD = re.compile(r"eagle|mtp|medusa|dflash|dspark|hydra|speculator", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Weights:
    """All weights of one kind in all layers, if stored and multiplied in the same formats.

    kind: "embedding" (looked up, not multiplied), "attention" (all layers that mix tokens, also
      recurrent ones), "feed-forward" (shared experts and routers included), "experts" (routed),
      "head" (the output matrix), "other" (norms, biases).
    values: number of weights, at least 0.
    stored_bytes: bytes in memory, scales of quantisation included.
    computed_in: number format of the products with these weights.
    experts, active: experts per layer, and experts that one token uses there; 0 unless routed.
    inner: size of an expert's hidden layer; 0 unless routed.
    held: whether this model stores the weights. A drafting head reads its target's output matrix.
    matrices: the matrices that these weights are; empty where they were not counted.
    """

    kind: WeightKind
    values: int
    stored_bytes: float
    computed_in: str
    experts: int = 0
    active: int = 0
    inner: int = 0
    held: bool = True
    matrices: tuple[Matrix, ...] = ()

    @property
    def active_values(self) -> float:
        """Number of weights that multiply the activations of one token."""
        return self.values * self.active / self.experts if self.experts else float(self.values)

    def products(self, hidden: int, *, layers: int, tp: int) -> list[tuple[int, int, int]]:
        """Returns the matrices on each of `tp` GPUs as (outputs, inputs, number of such matrices).

        Weights whose matrices were not counted are one in each layer, which reads the hidden state.
        Biases and norms are no products.
        """
        if self.matrices:
            return [(*matrix.sides(tp), matrix.copies) for matrix in self.matrices]
        match self.kind:
            case "other":
                return []
            case "head":
                layers = 1
        outputs = round(self.values / max(layers, 1) / hidden / tp)
        return [(max(outputs, 1), hidden, max(layers, 1))]


@dataclass(frozen=True, slots=True)
class CacheLayers:
    """Layers with one kind of cache.

    kind: "full" keeps all tokens, "sliding" and "chunked" a window of them, "latent" a compressed
      key-value pair (multi-head latent attention), "indexed" reads only tokens that an indexer
      picks, "linear" has a state of fixed size.
    bytes_per_token: cache bytes per token in one layer.
    state_bytes: bytes per sequence in one layer, for any length.
    window: tokens that one query sees; None means all.
    operations: operations of attention for one new token, one cached token and one layer.
    shards: number of parts that tensor parallelism can make (key-value heads; 1 if latent).
    held: whether these layers have a cache of their own; false if they read another layer's.
    """

    kind: CacheKind
    layers: int
    bytes_per_token: float
    state_bytes: float
    window: int | None
    operations: float
    shards: int
    held: bool = True


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The weights and caches that one forward pass of a decoder reads.

    heads: number of query heads.
    weights: by kind; a kind occurs more than once if its parts are stored differently.
    caches: by kind of layer.
    activations: number format of activations and cache.
    stored_as: "gguf" if a GGUF file with quantised weights states the shape; else None.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    weights: tuple[Weights, ...]
    caches: tuple[CacheLayers, ...]
    activations: str
    stored_as: Literal["gguf"] | None = None

    @property
    def parameters(self) -> int:
        """Number of weights that the model stores."""
        return sum(weights.values for weights in self.weights if weights.held)

    @property
    def active_parameters(self) -> float:
        """Number of weights that multiply the activations of one token."""
        return sum(weights.active_values for weights in self.multiplied)

    @property
    def multiplied(self) -> tuple[Weights, ...]:
        """The weights that a pass multiplies: all except embeddings."""
        return self.without("embedding")

    def without(self, *kinds: WeightKind) -> tuple[Weights, ...]:
        return tuple(weights for weights in self.weights if weights.kind not in kinds)

    def only(self, *kinds: WeightKind) -> tuple[Weights, ...]:
        return tuple(weights for weights in self.weights if weights.kind in kinds)

    @property
    def logits(self) -> float:
        """Number of tokens between which a pass chooses; 0 without an output matrix."""
        return sum(weights.values for weights in self.only("head")) / self.hidden

    @property
    def weight_bytes(self) -> float:
        """Bytes of all weights that the model stores."""
        return sum(weights.stored_bytes for weights in self.weights if weights.held)

    @property
    def body_and_head(self) -> tuple[ModelShape, ModelShape]:
        """The model without its output matrix, and the output matrix without layers."""
        body, head = self.without("head"), self.only("head")
        return replace(self, weights=body), replace(self, layers=0, weights=head, caches=())


DraftKind = Literal[
    "model", "EAGLE", "EAGLE-3", "P-EAGLE", "MTP", "Medusa", "DFlash", "DSpark", "Domino",
    "MLP speculator", "Gemma assistant", "PARD",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class DraftShape:
    """The shape of a draft model, or of a head on the target's hidden states.

    step: the shape of one draft step: one pass of a model or head that drafts token by token, one
      of Medusa's heads, or the pass of a parallel draft over all positions.
    parallel: whether one pass over γ positions drafts γ tokens.
    longest: most tokens that the draft can draft; None if there is no limit.
    held_bytes: bytes of the draft's own weights, without weights shared with the target.
    once: weights that are read once per block, in the first draft step, for any γ.
    in_turn: weights that a parallel draft, after its pass, reads once for each drafted token.
    stated_gamma: number of drafted tokens in the draft's configuration; None if there is none.
    multiple: number of the draft's layers, if longer drafts run all layers again; else 1.
    """

    kind: DraftKind
    step: ModelShape
    parallel: bool
    longest: int | None
    held_bytes: float
    once: tuple[Weights, ...] = ()
    in_turn: tuple[Weights, ...] = ()
    stated_gamma: int | None = None
    multiple: int = 1

    @property
    def is_model(self) -> bool:
        """Whether the draft is a separate model, not a head on the target's states."""
        return self.kind == "model"

    @property
    def opening(self) -> ModelShape:
        """The shape of a block's first draft step, which also reads the weights in `once`."""
        return replace(self.step, weights=(*self.step.weights, *self.once))

    @property
    def turn(self) -> ModelShape:
        """The part of a parallel draft that runs once per drafted token, after its pass."""
        return replace(self.step, layers=0, weights=self.in_turn, caches=())


def named_size(name: str | None) -> float | None:
    """Returns the number of weights used per token, by a model's name; None if it has no size.

    The size of "Qwen3-30B-A3B" is the active 3B.
    """
    parts = (name or "").rstrip("/").replace("\\", "/").split("/")
    base = next((part for part in parts if part.startswith("models--")), parts[-1])
    sizes = sorted(_SIZE.finditer(base.replace("_", "-")), key=lambda match: not match[1])
    if not sizes or _HEAD.search(base):
        return None
    return float(sizes[0][2]) * (1e9 if sizes[0][3] in "Bb" else 1e6)


def named_share(target: str | None, draft: str | None) -> float | None:
    """Returns draft size / target size as read from their names; None if a name has no size."""
    small, large = named_size(draft), named_size(target)
    return None if small is None or large is None else small / large
