"""The facts about one kind of engine, and the list of all kinds (`engines.kinds`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from operator import attrgetter
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from estimator.kinds import members

if TYPE_CHECKING:
    from pathlib import Path

    from engines.engine import Engine, EngineServer
    from engines.observing.observation import Observation
    from estimator.model_shapes.head_kind import HeadKind
    from estimator.traces.traces import DraftSampling, Verification
    from simulator.choice.schedule import Range
    from simulator.cost.setting import Wall
    from simulator.cost.zero import ReportedZero


def never_zero(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """Returns γ by batch size with γ = 1 in place of 0, for engines that handle γ = 0 badly."""
    groups = (list(some) for _, some in groupby(ranges, lambda part: max(part.gamma, 1)))
    return tuple(
        replace(some[0], gamma=max(some[0].gamma, 1), last_batch=some[-1].last_batch)
        for some in groups
    )


def later(place: str) -> Callable[..., Any]:
    """Returns a function that imports and calls the function at `place`, "module:name"."""
    return lambda *arguments: resolve_name(place)(*arguments)


@dataclass(frozen=True, slots=True)
class Models:
    """The target and the draft that an engine loads.

    target, draft: names or folders; a draft's folder also has the tokenizer's files.
    folder: temporary folder for the engine's files.
    positions: largest number of tokens of a prompt, its text and one draft together.
    """

    target: str
    draft: str
    folder: Path
    positions: int


@dataclass(frozen=True, slots=True)
class Drafted:
    """The draft to load.

    name: a name or folder. kind: a `simulator.cost.roofline.shapes.DraftKind`.
    sampling: whether its tokens are sampled or the likeliest; None: the engine's default.
    """

    name: str
    kind: str = "model"
    sampling: DraftSampling | None = None

    @property
    def head(self) -> HeadKind | None:
        """The draft's kind of head; None if the draft is a separate model."""
        from estimator.model_shapes.head_kind import head_kind  # imports numpy

        return head_kind(self.kind)

    @property
    def file(self) -> str | None:
        """The file or folder to load; None if the draft is part of the target's checkpoint."""
        return None if self.head is not None and self.head.in_target else self.name


# The rule by which vLLM and transformers choose a match.
EARLIEST = "the earliest of the longest matches, up to the text's end"


@dataclass(frozen=True, slots=True)
class Exports:
    """Functions that write an engine's settings as text to paste; None if it lacks the feature.

    model_method: the engine's name for a separate draft model; `HeadKind` has the names of heads.
    fixed: drafts exactly γ tokens per block. Arguments: γ, at least 1; the draft; the verification
      (None: unknown); the threshold of `stopping` (0: none; None: leave it as is).
    stopping: rule that ends an unsure draft (`simulator.acceptance.stopping`); empty: none.
    draft_sampling: how the engine drafts by default; None: its flags always state it.
    judges_blocks: whether the engine offers block verification (Sun et al. 2024).
    schedule: sets γ by batch size. Arguments: ranges of batch sizes with their γ, of which at least
      one is above 0; the draft.
    unscheduled: the engine's names (`methods_of`) of drafts that `schedule` cannot use.
    lookup: n-gram lookup of at most γ tokens. Arguments: γ; shortest and longest n-gram to match.
    lookup_rule: words that say which of several matches the lookup copies from.
    suffix: suffix decoding of at most γ tokens. Arguments: γ; depth of the suffix tree; whether
      the tree contains the outputs of other requests.
    tree: draft trees. Arguments: depth; largest number of children of a node; number of nodes; the
      draft.
    former: pairs of a text that these functions write and its spelling in older versions.
    zero: reported price of drafting nothing on a server that speculates; None: no report.
    controller: flags that let the server choose K or verify a part of drafts; empty: none known.
    """

    model_method: str
    fixed: Callable[[int, Drafted, Verification | None, float | None], str]
    draft_sampling: DraftSampling | None
    stopping: str = ""
    judges_blocks: bool = False
    schedule: Callable[[Sequence[Range], Drafted], str] | None = None
    unscheduled: frozenset[str] = frozenset()
    lookup: Callable[[int, int, int], str] | None = None
    lookup_rule: str = "the match that its own rule finds"
    suffix: Callable[[int, int, bool], str] | None = None
    tree: Callable[[int, int, int, Drafted], str] | None = None
    former: tuple[tuple[str, str], ...] = ()
    zero: ReportedZero | None = None
    controller: str = ""


@dataclass(frozen=True, slots=True)
class PrintedCounts:
    """A text in which an engine prints its counts of drafted and accepted tokens.

    marks: prefixes of metrics, parts of log lines, or JSON keys ("timings.draft_kind": a key of the
      object `timings`); any one of them identifies the text.
    reader: the function that reads the text, as "module:name" in engines.observing.
    program: name of the program that prints the JSON.
    page: path of the server's page of metrics.
    version_page: path of the server's page whose JSON object has `version`.
    """

    form: Literal["metrics", "log", "JSON"]
    marks: tuple[str, ...]
    reader: str
    program: str = ""
    page: str = "/metrics"
    version_page: str | None = None

    def read(self, text: Any, gamma: int | None) -> Observation:
        """Returns the counts in a text or JSON object; gamma: γ stated by the user."""
        observation: Observation = later(f"engines.observing.{self.reader}")(text, gamma)
        return observation


@dataclass(frozen=True, slots=True)
class EngineKind:
    """One kind of engine.

    start: starts the engine with a pair; None: specplan does not run it.
    connect: connects to a running server by URL; None: the engine has no server.
    takes: names of the optional settings that the engine accepts; "gguf": it loads GGUF files.
    draft_samplings: the engine's ways of drafting, the default first.
    drafts_past_end: whether a block drafts γ tokens even if fewer can still be emitted.
    drafts_with_prompt: whether the pass over the prompt also verifies a draft.
    acceptance: default source of acceptance. "engine": the engine's servers score texts; "local":
      this machine scores texts; "counts": like "local", but profiles use the engine's counters.
    in_turn: whether servers of several γ run one after the other by default.
    off_line: γ that the line through the times of steps leaves out, because they work differently.
    exports: writers of the engine's settings; None: no way to set its γ is known.
    wall: the largest step that is captured as a CUDA graph by default; None: no step is captured.
    """

    name: str
    title: str
    start: Callable[[Models, EngineSettings], Engine] | None = None
    connect: Callable[[str], EngineServer] | None = None
    takes: frozenset[str] = frozenset()
    draft_samplings: tuple[DraftSampling, ...] = ("argmax", "sampled")
    drafts_past_end: bool = False
    drafts_with_prompt: bool = False
    acceptance: Literal["engine", "local", "counts"] = "local"
    in_turn: bool = False
    off_line: frozenset[int] = frozenset()
    prints: tuple[PrintedCounts, ...] = ()
    exports: Exports | None = None
    wall: Wall | None = None

    @property
    def scores_texts(self) -> bool:
        """Whether the engine's servers can score a given text."""
        return self.acceptance == "engine"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings of an engine. None in a field selects the engine's default.

    engine: Run on this engine instead of specplan's own decoder; needs pip install -e '.[engines]'.
    engine_command: Shell command that starts the engine.
    draft_sampling: How the engine chooses draft tokens.  [default: the engine's own]
    concurrencies: List of numbers of simultaneous requests, e.g. 1,8.
    laws: Where both models score texts: on the engine's servers, or on this machine (local).
    target_url: URL of a running server with the target only.
    draft_url: URL of a running server with the draft only.
    servers: Run the servers of all gammas together or one after the other.
    threads: Number of threads of each model.
    """

    engine: str
    engine_command: str | None = None
    draft_sampling: Literal["argmax", "sampled"] | None = None
    concurrencies: tuple[int, ...] = (1,)
    laws: Literal["engine", "local"] | None = None
    target_url: str | None = None
    draft_url: str | None = None
    servers: Literal["together", "in-turn"] | None = None
    threads: int | None = None


@cache
def engine_kinds() -> Mapping[str, EngineKind]:
    """Returns all kinds of engine by name: the `KIND` of each module of `engines.kinds`."""
    kinds = (value for value in members("engines.kinds") if isinstance(value, EngineKind))
    return MappingProxyType({kind.name: kind for kind in sorted(kinds, key=attrgetter("name"))})


def names_of(has: Callable[[EngineKind], object]) -> tuple[str, ...]:
    """Returns the names of the kinds for which `has` is true."""
    return tuple(kind.name for kind in engine_kinds().values() if has(kind))


def listed(names: Sequence[str]) -> str:
    """Returns names joined as `a, b or c`."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def exports_of(name: str) -> Exports:
    """Returns the functions that write an engine's settings; refuses an engine without them."""
    kind = engine_kinds().get(name)
    if kind is None or kind.exports is None:
        known = ", ".join(names_of(lambda kind: kind.exports))
        raise ValueError(f"an engine to export for must be one of {known}, got {name}")
    return kind.exports


@cache
def methods_of(engine: str) -> Mapping[str, str]:
    """Returns the engine's name of each kind of draft that it loads, by specplan's kind."""
    from estimator.model_shapes.head_kind import head_kinds  # imports numpy

    methods = {"model": exports_of(engine).model_method}
    methods |= {kind.name: kind.methods[engine] for kind in head_kinds() if engine in kind.methods}
    return MappingProxyType(methods)
