"""What a kind of head says of itself: how its configuration is recognised and counted.

A kind is the `KIND` of a module of `estimator.model_shapes.heads`; `head_kinds` finds them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from estimator.kinds import modules_in
from estimator.model_shapes.shape import Count, shape_of
from estimator.model_shapes.storage import Storage, storage
from simulator.cost.draft_shape import DraftKind, DraftShape
from simulator.cost.model_shape import ModelShape, WeightKind, Weights

# The layers of a head whose configuration names no architecture.
LAYERS = "llama"


@dataclass(frozen=True, slots=True)
class Head:
    """A head's configuration, and the target that it is for.

    config: its parsed config.json, one of the speculators format flattened; of multi-token
      prediction, the target's own.
    dtype, activations, count: as in estimator.model_shapes.shape.shape_of.
    """

    kind: DraftKind
    config: Mapping[str, Any]
    target: ModelShape
    dtype: str | None
    activations: str | None
    count: Count

    @property
    def stored(self) -> Storage:
        return storage(self.config, dtype=self.dtype, activations=self.activations)

    def integer(self, name: str, *, within: str | None = None) -> int:
        """Returns a size that this kind must have.

        Args:
          within: the object that has it, where a configuration does not have it itself.

        Raises:
          ValueError: if it is missing or no positive integer; the message names kind and key.
        """
        value = self.get(name, within=within)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            nested = within is not None and within in self.config and name not in self.config
            place = f"{within}.{name}" if nested else name
            raise ValueError(
                f"{place} in config.json of {self.kind} must be an integer of at least 1, "
                f"got {value!r}"
            )
        return value

    def get(self, name: str, default: Any = None, *, within: str | None = None) -> Any:
        """Returns a value, of the object `within` where that has it."""
        nested = self.config.get(within) if within is not None else None
        if isinstance(nested, Mapping) and name in nested:
            return nested[name]
        return self.config.get(name, default)

    def taps(self, *places: tuple[str | None, str], default: int) -> int:
        """Returns how many of the target's layers it reads: those listed in the first such place.

        Args:
          places: objects (None: the configuration itself) and keys.
          default: where none of them lists any.
        """
        for within, name in places:
            listed = self.get(name, within=within)
            if isinstance(listed, Sequence) and listed:
                return len(listed)
        return default

    def require_width(self, name: str, width: Any) -> int:
        """Refuses a width that is not the target's."""
        if width != self.target.hidden:
            raise ValueError(
                f"{name} of the draft must be that of {self.target.name}, {self.target.hidden}, "
                f"got {width}"
            )
        return self.target.hidden

    def target_width(self) -> int:
        """Returns the width of the target's states, which its configuration must agree with."""
        name = (
            "hidden_size"
            if self.config.get("target_hidden_size") is None
            else ("target_hidden_size")
        )
        return self.require_width(name, self.config.get(name))

    def body(self, vocabulary: int) -> ModelShape:
        """Returns the shape of its decoder layers with an output matrix of its own."""
        return shape_of(
            {
                "model_type": LAYERS,
                **self.config,
                "vocab_size": vocabulary,
                "tie_word_embeddings": False,
            },
            dtype=self.dtype,
            activations=self.activations,
            count=self.count,
        )

    def weights(self, kind: WeightKind, values: int) -> Weights:
        """Returns weights that are stored as its own are."""
        plain = kind in ("head", "embedding", "other")
        form = self.stored.plain if plain else self.stored.quantised
        return Weights(
            kind=kind,
            values=values,
            stored_bytes=values * form.bytes_per_value,
            computed_in=form.product_format(self.stored.activations),
        )

    def step(
        self, name: str, *, width: int, vocabulary: int, weights: tuple[Weights, ...]
    ) -> ModelShape:
        """Returns the shape of a step of one layer that caches nothing."""
        return ModelShape(
            name=name,
            layers=1,
            hidden=width,
            heads=self.target.heads,
            vocabulary=vocabulary,
            weights=weights,
            caches=(),
            activations=self.stored.activations,
        )

    def draft(
        self,
        body: ModelShape,
        added: Sequence[Weights],
        *,
        once: Sequence[Weights] = (),
        in_turn: Sequence[Weights] = (),
        parallel: bool = False,
        longest: int | None = None,
    ) -> DraftShape:
        """Returns the draft of a body with weights beside it, its embedding being the target's.

        Args:
          added, once, in_turn: further weights: of every step, of a block, and of every token of a
            parallel draft in turn.
        """
        own = tuple(each for each in body.weights if each.kind != "embedding")
        step = replace(body, name=f"{self.kind} head", weights=(*own, *added))
        beside = sum(each.stored_bytes for each in (*once, *in_turn) if each.held)
        return DraftShape(
            self.kind,
            step,
            parallel,
            longest,
            step.weight_bytes + beside,
            once=tuple(once),
            in_turn=tuple(in_turn),
            stated_gamma=stated_gamma(self.config),
        )


@dataclass(frozen=True, slots=True)
class HeadKind:
    """One kind of head.

    name: as users read it.
    match_priority: lower numbers look at a configuration first.
    recognises: whether a configuration, given beside the target's, is of this kind.
    shape: counts it.
    speculators: its `speculators_model_type`; None: that format has no such kind.
    """

    name: DraftKind
    match_priority: int
    recognises: Callable[[Mapping[str, Any], Mapping[str, Any]], bool]
    shape: Callable[[Head], DraftShape]
    speculators: str | None = None


@cache
def head_kinds() -> tuple[HeadKind, ...]:
    """Returns all kinds, in the order in which they look at a configuration."""
    kinds = [module.KIND for module in modules_in("estimator.model_shapes.heads")]
    return tuple(sorted(kinds, key=lambda kind: kind.match_priority))


def borrowed_head(target: ModelShape) -> tuple[Weights, ...]:
    """Returns the target's output matrix, multiplied and not held."""
    return tuple(replace(each, held=False) for each in target.weights if each.kind == "head")


def class_names(config: Mapping[str, Any]) -> str:
    """Returns the architectures that a configuration names, in lower case."""
    return " ".join(map(str, config.get("architectures") or ())).lower()


def stated_gamma(config: Mapping[str, Any]) -> int | None:
    """Returns how many tokens a configuration says that it drafts; None: it does not say."""
    gamma = config.get("speculative_tokens", config.get("num_lookahead_tokens"))
    positive = isinstance(gamma, int) and not isinstance(gamma, bool) and gamma > 0
    return gamma if positive else None
