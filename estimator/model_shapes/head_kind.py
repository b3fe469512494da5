"""The facts about one kind of head: how its configuration is recognised and counted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from estimator.kinds import members
from estimator.model_shapes.counting import Count
from estimator.model_shapes.shape import Storage
from estimator.model_shapes.weights_and_caches import first_size
from estimator.model_shapes.weights_by_kind import LINEAR, CountedWeights
from simulator.cost.roofline.shapes import (
    CacheLayers,
    DraftKind,
    DraftShape,
    ModelShape,
    WeightKind,
    Weights,
)

# The architecture of a head's layers if its configuration names none.
LAYERS = "llama"


@dataclass(frozen=True, slots=True)
class Head:
    """A head's configuration, its target, and the functions that count its weights.

    config: the head's parsed config.json, with the keys of nested objects at the top level; for
      multi-token prediction, the target's.
    target: the target's shape.
    shape_of, storage: functions that return the shape and the storage formats of a configuration.
    """

    kind: "HeadKind"
    config: Mapping[str, Any]
    target: ModelShape
    shape_of: Callable[[Mapping[str, Any]], ModelShape]
    storage: Callable[[Mapping[str, Any]], Storage]
    count: Count

    @property
    def stored(self) -> Storage:
        return self.storage(self.config)

    @property
    def borrowed_head(self) -> tuple[Weights, ...]:
        """The target's output matrix, which the head uses but does not store."""
        return tuple(replace(weights, held=False) for weights in self.target.only("head"))

    def integer(self, name: str) -> int:
        """Returns the value of a configuration key; refuses a value that is no positive integer."""
        value = self.config.get(name)
        size = first_size([value])
        if size is None:
            nested = self.kind.nested in self.config and name not in self.config
            raise ValueError(
                f"{f'{self.kind.nested}.' if nested else ''}{name} in config.json of "
                f"{self.kind.name} must be an integer of at least 1, got {value!r}"
            )
        return size

    def taps(self, *names: str, default: int) -> int:
        """Returns the number of target layers whose states the head reads.

        names: keys of lists of layers. The first list that exists is counted, else the default
          is returned.
        """
        lists = map(self.config.get, names)
        return next(
            (len(layers) for layers in lists if isinstance(layers, Sequence) and layers), default
        )

    def require_width(self, name: str, width: Any) -> int:
        """Returns the target's hidden size; refuses a draft whose hidden size (`width`) differs."""
        if width != self.target.hidden:
            raise ValueError(
                f"{name} of the draft must be {self.target.name}'s, {self.target.hidden}, "
                f"got {width}"
            )
        return self.target.hidden

    def target_width(self) -> int:
        """Returns the target's hidden size; refuses a configuration that states another."""
        stated = self.config.get("target_hidden_size") is not None
        name = "target_hidden_size" if stated else "hidden_size"
        return self.require_width(name, self.config.get(name))

    def body(self, vocabulary: int) -> ModelShape:
        """Returns the shape of the head's decoder layers with an output matrix of its own."""
        sizes = {"vocab_size": vocabulary, "tie_word_embeddings": False}
        return self.shape_of({"model_type": LAYERS, **self.config, **sizes})

    def weights(self, kind: WeightKind, values: int) -> Weights:
        """Returns weights of one kind, stored in the head's format; values: number of weights."""
        stored = self.stored
        form = stored.quantised if kind in LINEAR else stored.plain
        return stored.weights(CountedWeights(kind, values), form)

    def step(
        self, name: str, *weights: Weights, caches: tuple[CacheLayers, ...] = ()
    ) -> ModelShape:
        """Returns a draft step: one layer with these weights and caches, and the target's sizes."""
        shape = replace(self.target, name=name, layers=1, weights=weights, caches=caches)
        return replace(shape, activations=self.stored.activations)

    def draft(
        self,
        body: ModelShape,
        *added: Weights,
        once: Sequence[Weights] = (),
        in_turn: Sequence[Weights] = (),
        parallel: bool = False,
        longest: int | None = None,
    ) -> DraftShape:
        """Returns the shape of a head that has the layers of `body` and the target's embedding.

        added: more weights that every draft step uses.
        once, in_turn, parallel, longest: see `DraftShape`.
        """
        step = replace(body, name=f"{self.kind.name} head", weights=(*body.multiplied, *added))
        held = sum(
            weights.stored_bytes for weights in (*step.weights, *once, *in_turn) if weights.held
        )
        name = self.kind.name
        return DraftShape(name, step, parallel, longest, held, tuple(once), tuple(in_turn))


@dataclass(frozen=True, slots=True)
class HeadKind:
    """One kind of head; each kind is a constant in a module of `estimator.model_shapes.heads`.

    shape: function that returns the shape of a head of this kind.
    match_priority: a configuration that fits several kinds is of the kind with the lowest number.
    prior: class of drafts in the prior of costs, a name in `simulator.cost.fitted.prior.DRAFTS`.
    named: text that the names of this kind's architectures contain, in lower case; "": no text.
    types: values of `model_type` that only this kind has.
    keys: keys that only configurations of this kind have.
    nested: name of an object in the configuration that holds more of the head's keys.
    recognises: further test of a configuration, given it and its target's; None: no further test.
    methods: by server's name, the name of the speculation method that loads this kind there.
    speculators: the kind's `speculators_model_type`; None if that format has no such kind.
    in_target: whether the target's checkpoint contains the head, so servers load no other file.
    drafts_blocks: whether servers expect a block size for the kind, instead of a number of steps.
    parallel_drafting: whether vLLM needs the flag `parallel_drafting` to load the kind.

    Example: a kind recognised by one key, counted as a body of llama layers.

        REPEAT = HeadKind(
            "Repeat", lambda head: head.draft(head.body(head.target.vocabulary)),
            keys=("repeat_layers",), methods={"vllm": "repeat"},
        )
    """

    name: DraftKind
    shape: Callable[[Head], DraftShape]
    match_priority: int = 3
    prior: str = "block"
    named: str = ""
    types: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    nested: str = ""
    recognises: Callable[[Mapping[str, Any], Mapping[str, Any]], bool] | None = None
    methods: Mapping[str, str] = field(default_factory=dict)
    speculators: str | None = None
    in_target: bool = False
    drafts_blocks: bool = False
    parallel_drafting: bool = False

    def describes(self, config: Mapping[str, Any], target: Mapping[str, Any]) -> bool:
        """Returns whether `config` describes a head of this kind; target: the target's config."""
        return (
            (self.named != "" and self.named in class_names(config))
            or config.get("model_type") in self.types
            or any(key in config for key in self.keys)
            or (self.recognises is not None and self.recognises(config, target))
        )


@cache
def head_kinds() -> tuple[HeadKind, ...]:
    """Returns all kinds of head, sorted by `match_priority`."""
    objects = members("estimator.model_shapes.heads")
    kinds = (value for value in objects if isinstance(value, HeadKind))
    return tuple(sorted(kinds, key=lambda kind: kind.match_priority))


def head_kind(name: str) -> HeadKind | None:
    """Returns the kind of head with this name; None for "model", which is a whole draft model."""
    return next((kind for kind in head_kinds() if kind.name == name), None)


def prior_of(name: str) -> str:
    """Returns the class, in the prior of costs, of a kind of draft, for example "EAGLE-3"."""
    kind = head_kind(name)
    return name if kind is None else kind.prior


def class_names(config: Mapping[str, Any]) -> str:
    """Returns the architectures that a configuration names, in lower case."""
    return " ".join(map(str, config.get("architectures") or ())).lower()
