"""The facts about one kind of drafter: its names, abilities, requirements, and loading.

A kind is a frozen dataclass in this folder; heavy imports are inside its methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import entry_points
from inspect import isabstract, isclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from estimator.kinds import members
from estimator.settings import ModelSettings
from reference.models.embedded import EMBEDDED

if TYPE_CHECKING:
    from ngram.copies.texts import Copied, Texts
    from reference.drafter import Drafter
    from reference.drafters.model_drafter import ModelDrafter
    from reference.laws import Sampling
    from reference.models.cached_model import CachedModel

DraftModel: TypeAlias = "CachedModel"
# Makes a drafter for sampling settings.
DrafterOf = Callable[["Sampling"], "Drafter"]
# Drafts along recorded texts, up to a longest draft.
Copies = Callable[["Texts", int], "Copied"]
# Entry points of installed programs that name packages of kinds.
ENTRY_POINTS = "specplan.draft_names"
# Order in which kinds try a name: names joined by words, joined by signs, own names, any name.
JOINED_BY_WORDS, JOINED_BY_SIGNS, OWN_NAME, ANY_NAME = range(4)


@dataclass(frozen=True, slots=True)
class LoadContext:
    """The target and settings with which a drafter is loaded.

    passes: compiles a draft model's passes over `widths` tokens; by default it changes nothing.
    """

    target: CachedModel
    tokenizer: Any
    settings: ModelSettings
    passes: Callable[..., CachedModel] = lambda draft, widths=(): draft

    def pretrained(self, name: str) -> CachedModel:
        """Returns the named transformers model, on the target's device, in the settings' dtype."""
        from reference.models.huggingface import load_model, require_same_kind

        draft = load_model(
            name,
            device=self.target.device,
            dtype=self.settings.dtype,
            trust_remote_code=self.settings.trust_remote_code,
        )
        require_same_kind(self.target, draft)
        return draft


class DrafterKind(ABC):
    """A kind of drafter. Each instance is one drafter that a user named.

    prefix: first word of this kind's names; "" if a name has no fixed first word.
    names: names for help texts, which show whether a value after a colon is allowed or needed.
    match_priority: a name that fits several kinds is of the kind with the smallest number.
    own_states: whether the drafter reads hidden states of the target, so that it can draft for no
      other model.
    rescores: whether the drafter's scores can choose among several drafts of blockwise heads.
    supports_trees: whether the drafter can draft trees (`reference.drafters.trees`).
    samples: whether the drafter has a temperature of its own.
    uncompiled: why models cannot be compiled if this drafter is used; None: they can.
    unspread: why the target's layers cannot be divided among devices; None: they can.
    unmeasured: why acceptance cannot be measured; None: it can.
    earliest: whether the drafter is a lookup that copies the tokens after the earliest match.

    Example of a kind's name (CONTRIBUTING.md shows a complete kind, `Repeat`):
      >>> class Silence(DrafterKind):
      ...     prefix, names = "silence", ("silence",)
      ...     def load(self, context): raise ValueError("this target cannot be silent")
      >>> Silence.parse("silence").names
      ('silence',)
    """

    prefix: ClassVar[str] = ""
    names: ClassVar[tuple[str, ...]] = ()
    match_priority: ClassVar[int] = OWN_NAME
    own_states: ClassVar[bool] = False
    rescores: ClassVar[bool] = False
    supports_trees: ClassVar[bool] = False
    samples: ClassVar[bool] = True
    uncompiled: ClassVar[str | None] = None
    unspread: ClassVar[str | None] = None
    unmeasured: ClassVar[str | None] = None
    earliest: bool = False

    @classmethod
    def parse(cls, text: str) -> DrafterKind | None:
        """Returns the drafter that a text names; None if it names no drafter of this kind."""
        word, colon, value = text.partition(":")
        if word != cls.prefix:
            return None
        if colon and not any(name.startswith(f"{word}:") for name in cls.names):
            raise ValueError(f"draft {word} takes no value, got {text!r}")
        if not value and (colon or word not in cls.names):
            raise ValueError(f"draft {word}: needs a value after the colon, got {text!r}")
        return cls.of_value(value, text) if value else cls()

    @classmethod
    def of_value(cls, value: str, text: str) -> DrafterKind:
        """Returns the drafter named "prefix:value". By default its first field gets the value."""
        return cls(value)  # type: ignore[call-arg]

    def __str__(self) -> str:
        """Returns the drafter's name: the prefix, and the values that differ from defaults."""
        values = [(getattr(self, field.name), field) for field in fields(self)]  # type: ignore[arg-type]
        given = [str(value) for value, part in values if value != part.default]
        return ":".join((self.prefix, *given))

    @abstractmethod
    def load(self, context: LoadContext) -> DrafterOf:
        """Returns a function that makes the drafter; refuses a target that does not suit it."""

    @property
    def reads(self) -> frozenset[str]:
        return frozenset()

    @property
    def branches(self) -> bool:
        """Whether the drafter proposes several continuations of one text."""
        return False

    @property
    def lookup_lengths(self) -> tuple[int, int] | None:
        """Shortest and longest match of a lookup, in tokens; None for other drafters."""
        return None

    @property
    def suffixes(self) -> tuple[int, bool] | None:
        """Depth of the suffix trees, and whether earlier outputs have a tree; None: no trees."""
        return None

    def from_texts(self, tokenizer: Any) -> Copies | None:
        """Returns a function that drafts at each token of recorded texts; None: the kind cannot."""
        return None

    @property
    def served(self) -> str | None:
        """Name or folder from which a server loads the draft; None: no separate draft model."""
        return None

    @property
    def sources(self) -> tuple[str, ...]:
        """Files, folders or hub names from which the drafter is loaded."""
        return tuple(map(str, self.own_files)) if self.served is None else (self.served,)

    @property
    def own_files(self) -> tuple[Path, ...]:
        """Source files in specplan's own formats (n-grams, heads), not transformers checkpoints."""
        return ()

    def require(  # noqa: B027 - most suit all
        self, target: str, *, tokenizer: Any, settings: ModelSettings
    ) -> None:
        """Raises ValueError if the drafter does not fit the target's name or tokenizer, if any."""


class ModelKind(DrafterKind):
    """A kind of draft model, as opposed to heads and drafters that copy tokens.

    of_target: whether the draft model is a part of the target, for example its first layers.
    """

    supports_trees = True
    of_target: ClassVar[bool] = False

    @abstractmethod
    def model(self, context: LoadContext) -> CachedModel:
        """Returns the draft model, not yet compiled."""

    def load(self, context: LoadContext) -> Callable[[Sampling], ModelDrafter]:
        from reference.drafters.model_drafter import ModelDrafter

        draft = context.passes(self.model(context))
        return lambda sampling: ModelDrafter(draft, sampling, context.target.vocabulary)


def walk(drafter: DrafterKind) -> Iterator[DrafterKind]:
    """Yields a drafter and all drafters inside it."""
    yield drafter
    for field in fields(drafter):  # type: ignore[arg-type]
        if isinstance(part := getattr(drafter, field.name), DrafterKind):
            yield from walk(part)


def positive(value: str, form: str, text: str) -> int:
    """Returns `value` as an integer; refuses an integer below 1 and other values.

    form, text: the form and the text of the drafter's name, for example "exit:N" and "exit:0".
    """
    if not (value.isdecimal() and int(value) > 0):
        raise ValueError(f"draft {form} needs a positive integer {form[-1]}, got {text!r}")
    return int(value)


@cache
def drafter_kinds() -> tuple[type[DrafterKind], ...]:
    """Returns all kinds of drafter, in the order in which they try to parse a name.

    They are the classes in `estimator.draft_names` and in the packages that installed programs,
    ours included, declare as entry points of the group ENTRY_POINTS.
    """
    folders = (point.value for point in entry_points(group=ENTRY_POINTS))
    objects = members("estimator.draft_names", *folders)
    classes = {value for value in objects if isclass(value) and not isabstract(value)}
    kinds = (value for value in classes if issubclass(value, DrafterKind))
    return tuple(sorted(kinds, key=lambda kind: (kind.match_priority, kind.__name__)))


def parse_drafter(text: str) -> DrafterKind:
    """Returns the named drafter. A name that fits no kind is a Hugging Face name or a folder."""
    if not text.strip():
        raise ValueError("draft must name a drafter, got an empty name")
    return next(filter(None, (kind.parse(text) for kind in drafter_kinds())))


def drafter_forms() -> str:
    """Returns the names of all kinds in one phrase for help texts, for example "A, B, or C"."""
    kinds = sorted(drafter_kinds(), key=lambda kind: kind.match_priority != OWN_NAME)
    names = [form for kind in kinds for form in kind.names]
    return ", ".join(names[:-1]) + f", or {names[-1]}"


def draft_names(models: ModelSettings) -> tuple[str, ...]:
    """Returns the names of the drafters in the settings, by default the embedded draft's name."""
    if not models.drafts and models.target not in (None, EMBEDDED):
        raise ValueError("draft must be given with a target, got none")
    return models.drafts or (EMBEDDED,)


def one_draft(models: ModelSettings) -> str:
    """Returns the name of the only drafter; refuses several."""
    names = draft_names(models)
    if len(names) > 1:
        raise ValueError(f"draft must be given once, got {', '.join(names)}")
    return names[0]
