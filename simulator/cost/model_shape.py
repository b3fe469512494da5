"""The shape of a model: how many weights of each kind it has, and what its layers cache."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

WeightKind = Literal["embedding", "attention", "feed-forward", "experts", "head", "other"]
CacheKind = Literal["full", "sliding", "chunked", "linear", "latent", "indexed"]


@dataclass(frozen=True, slots=True)
class Weights:
    """All weights of one kind that are stored and multiplied alike, of all layers together.

    kind: "embedding" (looked up, not multiplied), "attention" (all layers that mix tokens, also
      recurrent ones), "feed-forward" (shared experts and routers included), "experts" (routed),
      "head" (the output matrix), "other" (norms, biases).
    values: how many, at least 0.
    stored_bytes: bytes in memory, scales of quantisation included.
    computed_in: number format of the products with them.
    experts: number of experts of a layer that these weights belong to; 0 unless routed.
    active: number of these experts that one token is sent to; 0 unless routed.
    held: whether this model holds them; a head that drafts reads its target's output matrix.
    """

    kind: WeightKind
    values: int
    stored_bytes: float
    computed_in: str
    experts: int = 0
    active: int = 0
    held: bool = True

    @property
    def active_values(self) -> float:
        """Weights that the products of one token take."""
        return self.values * self.active / self.experts if self.experts else float(self.values)


@dataclass(frozen=True, slots=True)
class CacheLayers:
    """Layers whose caches are alike.

    kind: "full" keeps all tokens, "sliding" and "chunked" a window of them, "latent" a compressed
      key-value pair (multi-head latent attention), "indexed" reads
      only the tokens that an indexer picks, "linear" a state of fixed size.
    layers: how many, at least 1.
    bytes_per_token: cache bytes of one layer for each token.
    state_bytes: bytes of one layer and sequence that do not depend on its length.
    window: tokens that one query sees; None: all.
    operations: operations of attention for one new token, one cached token and one layer.
    shards: into how many parts tensor parallelism can divide it (key-value heads; 1 if latent).
    held: whether these layers keep what they read; layers that share another's cache do not.
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
    """The weights and caches that one forward pass of a decoder multiplies, reads and keeps.

    layers, hidden, heads, vocabulary: sizes, at least 1; heads counts the heads of queries.
    weights: by kind; a kind comes more than once where its parts are stored differently.
    caches: by kind of layer.
    activations: number format of activations and cache.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    weights: tuple[Weights, ...]
    caches: tuple[CacheLayers, ...]
    activations: str

    @property
    def parameters(self) -> int:
        """All weights that the model holds."""
        return sum(each.values for each in self.weights if each.held)

    @property
    def active_parameters(self) -> float:
        """Weights that the products of one token take, those looked up left out."""
        return sum(each.active_values for each in self.multiplied)

    @property
    def multiplied(self) -> tuple[Weights, ...]:
        """The weights that a pass reads: all but those that are looked up."""
        return self.without("embedding")

    def without(self, *kinds: WeightKind) -> tuple[Weights, ...]:
        """Returns the weights of all other kinds."""
        return tuple(each for each in self.weights if each.kind not in kinds)

    def only(self, *kinds: WeightKind) -> tuple[Weights, ...]:
        """Returns the weights of these kinds."""
        return tuple(each for each in self.weights if each.kind in kinds)

    @property
    def weight_bytes(self) -> float:
        """Bytes of all weights that the model holds."""
        return sum(each.stored_bytes for each in self.weights if each.held)

    @property
    def cache_bytes_per_token(self) -> float:
        """Bytes that the caches of one sequence grow by with each token, no window being full."""
        return sum(each.layers * each.bytes_per_token for each in self.caches if each.held)

    @property
    def body_and_head(self) -> tuple[ModelShape, ModelShape]:
        """The model without its output matrix, and the output matrix without layers."""
        body, head = self.without("head"), self.only("head")
        return replace(self, weights=body), replace(self, layers=0, weights=head, caches=())

    def values(self, kind: WeightKind) -> int:
        """Returns how many weights of a kind the model has, held or not."""
        return sum(each.values for each in self.weights if each.kind == kind)
