"""What specplan knows of a kind of engine: how it starts, drafts, scores, counts and is told γ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from engines.engine import Engine, Server
    from engines.observing.observation import Observation
    from estimator.traces.traces import DraftSampling, Verification
    from simulator.choice.schedule import Range
    from simulator.cost.wall import Wall


def never_zero(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """Returns a schedule with 1 in place of 0, for engines that do badly after a pause."""
    found: list[Range] = []
    for each in ranges:
        gamma = max(each.gamma, 1)
        if found and found[-1].gamma == gamma:
            found[-1] = replace(found[-1], last_batch=each.last_batch)
        else:
            found.append(replace(each, gamma=gamma))
    return tuple(found)


def later(place: str) -> Callable[..., Any]:
    """Returns the function of "module:name", whose module is not imported before it is called."""
    return lambda *arguments: resolve_name(place)(*arguments)


@dataclass(frozen=True, slots=True)
class Models:
    """Where an engine finds its pair.

    target, draft: names or folders; a draft's folder has the tokenizer's files, too.
    folder: for what is written for the engine alone; gone after the run.
    positions: the longest prompt with its text and a draft.
    """

    target: str
    draft: str
    folder: Path
    positions: int


@dataclass(frozen=True, slots=True)
class Drafted:
    """What an engine is to draft with.

    kind: what it is (`simulator.cost.draft_shape.DraftKind`).
    """

    name: str
    kind: str = "model"


# The rule of `lookup:vllm`, which vLLM and transformers share.
EARLIEST = "the earliest of the longest matches, up to the text's end"


@dataclass(frozen=True, slots=True)
class Exports:
    """What makes an engine draft as planned, as text that is ready to paste.

    methods: the engine's names for drafts, by their kind (Drafted); it loads no others.
    fixed: exactly γ tokens a block, γ >= 1. Takes γ, the draft, how it drafts (None: not known) and
      how drafts are judged.
    stopping: the rule by which the engine ends an unsure draft (`simulator.acceptance.stopping`);
      empty: it has no threshold. `fixed` takes the threshold last, 0: drafts have a fixed length.
    draft_sampling: how the engine drafts unless told otherwise; None: its flags always say.
    judges_blocks: whether it can judge a draft as a whole (Sun et al. 2024).
    schedule: γ by batch size. Takes the ranges, not all of γ 0, and the draft; None: the engine
      takes none.
    scheduled: kinds of drafts that it schedules; None: all that it loads.
    lookup: at most γ tokens by lookup. Takes γ, the shortest and the longest match; None: the
      engine has none.
    lookup_rule: which match its lookup copies from, in words.
    suffix: at most γ tokens by suffix decoding. Takes γ, the tree's depth, and whether other
      requests' outputs count, too; None: likewise.
    tree: trees of drafts. Takes depth, the most children of a node, and nodes; None: likewise.
    """

    methods: Mapping[str, str]
    fixed: Callable[[int, Drafted, DraftSampling | None, Verification | None, float], str]
    draft_sampling: DraftSampling | None
    stopping: str = ""
    judges_blocks: bool = False
    schedule: Callable[[Sequence[Range], Drafted], str] | None = None
    scheduled: frozenset[str] | None = None
    lookup: Callable[[int, int, int], str] | None = None
    lookup_rule: str = "the match that its own rule finds"
    suffix: Callable[[int, int, bool], str] | None = None
    tree: Callable[[int, int, int], str] | None = None


@dataclass(frozen=True, slots=True)
class Printed:
    """A text in which an engine prints what it made of its drafts.

    form: a page of metrics, a log, or a JSON object.
    marks: of which a text has one: the prefix of the metrics of a page, what lines of a log have,
      a key of a JSON object.
    read: from the text, or the object, and γ where the user states it, to counts.
    program: what prints the JSON, in words; empty: the engine itself.
    """

    form: Literal["metrics", "log", "JSON"]
    marks: tuple[str, ...]
    read: Callable[[Any, int | None], Observation]
    program: str = ""


@dataclass(frozen=True, slots=True)
class EngineKind:
    """One kind of engine.

    start: starts it with a pair; None: specplan does not run it.
    connect: reaches a server that runs, by URL; None: it has none.
    takes: which settings are its own among those that not every engine takes, as EngineSettings
      names them.
    draft_samplings: the ways of drafting that it has, its own default first.
    drafts_past_end: whether a block drafts γ tokens though fewer can still be emitted.
    drafts_with_prompt: whether the pass over the prompt verifies a draft already.
    acceptance: what tells it unless --laws says so: "engine", its servers score given texts;
      "local", this machine does; "counts", likewise, but its counters tell that of a profile.
    in_turn: whether servers of several γ run one after the other unless asked otherwise.
    version_page: of a server, with a JSON object that has `version`; None: it has none.
    exports: None: it is told no γ in a way that is known.
    wall: the largest step that it captures as a graph by default; None: it captures none.
    """

    name: str
    title: str
    start: Callable[[Models, EngineSettings], Engine] | None = None
    connect: Callable[[str], Server] | None = None
    takes: frozenset[str] = frozenset()
    draft_samplings: tuple[DraftSampling, ...] = ("argmax", "sampled")
    drafts_past_end: bool = False
    drafts_with_prompt: bool = False
    acceptance: Literal["engine", "local", "counts"] = "local"
    in_turn: bool = False
    version_page: str | None = None
    prints: tuple[Printed, ...] = ()
    exports: Exports | None = None
    wall: Wall | None = None

    @property
    def scores_texts(self) -> bool:
        """Whether its servers tell how likely given texts are."""
        return self.acceptance == "engine"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Which engine decodes, how it drafts, and at what load.

    engine_command: what starts it, in words of a shell; None: its own program.
    draft_sampling: None: the engine's own default.
    concurrencies: requests at once, each a case.
    laws: who scores texts; None: what the kind says.
    target_url, draft_url: running servers of either model alone.
    threads: of each model; None: as many as cores are free.
    servers: whether those of all γ run at once or in turn; None: what the kind says.
    """

    engine: str
    engine_command: str | None = None
    draft_sampling: Literal["argmax", "sampled"] | None = None
    concurrencies: tuple[int, ...] = (1,)
    laws: Literal["engine", "local"] | None = None
    target_url: str | None = None
    draft_url: str | None = None
    threads: int | None = None
    servers: Literal["together", "in-turn"] | None = None
