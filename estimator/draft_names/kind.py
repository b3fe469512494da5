"""The facts about one kind of drafter: how users name it, what it can do and needs, how it loads.

A kind is a frozen dataclass in a file of its own, which `estimator.draft_names.registry` finds. An
instance is a drafter as a user named it. Heavy imports are inside `load`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.settings import ModelSettings

if TYPE_CHECKING:
    from ngram.copies.texts import Copied, Texts
    from reference.drafter import Drafter
    from reference.laws.sampling import Sampling
    from reference.models.cached_model import CachedModel

    DrafterOf = Callable[[Sampling], Drafter]
    # Of recorded texts and the longest draft.
    Copies = Callable[[Texts, int], Copied]

EMBEDDED = "embedded"
# Which kinds try a name first: those that join names by words, by signs, others, what takes any.
JOINED_BY_WORDS, JOINED_BY_SIGNS, OWN_NAME, ANY_NAME = range(4)


@dataclass(frozen=True, slots=True)
class LoadContext:
    """What a drafter is loaded beside.

    passes: gives a draft model the passes that it is to run with.
    """

    target: CachedModel
    tokenizer: Any
    settings: ModelSettings
    passes: Callable[[CachedModel], CachedModel] = lambda draft: draft


@dataclass(frozen=True, slots=True)
class Needs:
    """What a drafter must suit, asked before any weights are read.

    settings: how to load a tokenizer, and whether to take an n-gram model as it is.
    """

    target: str
    tokenizer: Any
    settings: ModelSettings


@dataclass(frozen=True, slots=True)
class SuffixTree:
    """What servers are told of suffix decoding.

    depth: of its trees.
    earlier: whether outputs written before have one, too.
    """

    depth: int
    earlier: bool = False


class DrafterKind(ABC):
    """A drafter as a user named it; the class, its kind.

    prefix: how each of its names begins; "" where they hold other names, or may be anything.
    names: as help shows them.
    match_priority: JOINED_BY_WORDS, JOINED_BY_SIGNS, OWN_NAME or ANY_NAME.
    reads: which of the settings that only some drafters read this one does.
    own_states: whether it reads states that only the target's own passes leave, and so cannot draft
      for another model.
    rescores: whether it can choose among what blockwise heads draft.
    supports_trees: whether its draft can be shaped as a tree (`reference.drafters.branching`).
    uncompiled, unspread, unmeasured: why models beside it cannot have compiled passes, the target
      not be on several devices, acceptance not be measured; None: they can.
    """

    prefix: ClassVar[str] = ""
    names: ClassVar[tuple[str, ...]] = ()
    match_priority: ClassVar[int] = OWN_NAME
    own_states: ClassVar[bool] = False
    rescores: ClassVar[bool] = False
    supports_trees: ClassVar[bool] = False
    uncompiled: ClassVar[str | None] = None
    unspread: ClassVar[str | None] = None
    unmeasured: ClassVar[str | None] = None

    @classmethod
    def parse(cls, text: str) -> DrafterKind | None:
        """Returns the drafter that a text names; None where it names none of this kind.

        Unless a kind has values of its own, its word alone is a name.

        Raises:
          ValueError: if a value is missing, superfluous or out of range.
        """
        if text.partition(":")[0] != cls.prefix:
            return None
        if ":" in text:
            raise ValueError(f"draft {cls.prefix} takes no value, got {text!r}")
        return cls()

    @abstractmethod
    def load(self, context: LoadContext) -> DrafterOf:
        """Returns what makes the drafter for given sampling settings.

        Raises:
          ValueError: if there is no such drafter for this target.
        """

    @property
    def reads(self) -> frozenset[str]:
        return frozenset()

    @property
    def branches(self) -> bool:
        """Whether it drafts several continuations of one text."""
        return False

    @property
    def lookup_lengths(self) -> tuple[int, int] | None:
        """Fewest and most tokens of its matches, where it is a lookup and nothing else."""
        return None

    @property
    def copies_earliest(self) -> bool:
        """Whether its lookup copies from the earliest of the longest matches."""
        return False

    @property
    def suffixes(self) -> SuffixTree | None:
        """What it is, where it is suffix decoding and nothing else."""
        return None

    def from_texts(self, tokenizer: Any) -> Copies | None:
        """Returns what tells its drafts from recorded texts; None: it needs more than these.

        Args:
          tokenizer: of the texts; None: not known.
        """
        return None

    @property
    def served(self) -> str | None:
        """The name or folder by which a server can load it; None: it is no model of its own."""
        return None

    @property
    def parts(self) -> tuple[DrafterKind, ...]:
        """Drafters that it is made of."""
        return ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Files, folders or hub names that it is itself loaded from."""
        return tuple(map(str, self.own_files))

    @property
    def own_files(self) -> tuple[Path, ...]:
        """Those of `sources` that no transformers model is in."""
        return ()

    def require(self, needs: Needs) -> None:  # noqa: B027 - most suit all
        """Refuses to draft for what it does not suit, such as another tokenizer.

        Raises:
          ValueError: naming both.
          OSError: if a file cannot be read.
        """


class ModelKind(DrafterKind):
    """A drafter that is a model, for which another can draft.

    of_target: whether it is a part of the target.
    """

    supports_trees = True
    of_target: ClassVar[bool] = False

    @abstractmethod
    def model(self, context: LoadContext) -> CachedModel:
        """Returns the model, its passes as they are loaded."""

    def load(self, context: LoadContext) -> DrafterOf:
        from reference.drafters.model_drafter import ModelDrafter

        draft = context.passes(self.model(context))
        return lambda sampling: ModelDrafter(draft, sampling, context.target.vocabulary)


def walk(drafter: DrafterKind) -> Iterator[DrafterKind]:
    """Yields a drafter and all that it is made of."""
    yield drafter
    for part in drafter.parts:
        yield from walk(part)


def value_of(text: str, kind: type[DrafterKind]) -> str | None:
    """Returns what follows the colon of a kind's name; None where no colon stands.

    Raises:
      ValueError: if nothing follows it.
    """
    _, colon, value = text.partition(":")
    if colon and not value:
        raise ValueError(f"draft {kind.prefix}: needs a value after the colon, got {text!r}")
    return value or None


def needed_value(text: str, kind: type[DrafterKind]) -> str:
    """Returns what follows the colon.

    Raises:
      ValueError: if there is none.
    """
    value = value_of(text, kind)
    if value is None:
        raise ValueError(f"draft {kind.prefix}: needs a value after the colon, got {text!r}")
    return value


def positive(value: str, form: str, text: str) -> int:
    """Returns the number in a name.

    Raises:
      ValueError: if it is not a positive integer; form says where one is due, as "exit:N".
    """
    if not (value.isdecimal() and int(value) > 0):
        raise ValueError(f"draft {form} needs a positive integer {form[-1]}, got {text!r}")
    return int(value)
