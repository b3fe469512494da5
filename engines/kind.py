"""The kinds of engines: how each one starts, drafts, scores texts, counts and is given γ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from engines.engine import Engine, EngineServer
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
    folder: temporary folder for the engine's files; removed after the run.
    positions: tokens of the longest prompt with its text and a draft.
    """

    target: str
    draft: str
    folder: Path
    positions: int


@dataclass(frozen=True, slots=True)
class Drafted:
    """The draft that an engine uses.

    kind: kind of draft (`simulator.cost.draft_shape.DraftKind`).
    """

    name: str
    kind: str = "model"


# The rule of `lookup:vllm`, which vLLM and transformers share.
EARLIEST = "the earliest of the longest matches, up to the text's end"


@dataclass(frozen=True, slots=True)
class Exports:
    """Functions that write an engine's settings for a plan, as text that is ready to paste.

    methods: the engine's names for drafts, by their kind (Drafted); it loads no others.
    fixed: writes settings for exactly γ >= 1 tokens a block. Takes γ, the draft, how it drafts
      (None: not known) and how drafts are judged.
    stopping: the rule by which the engine ends an unsure draft (`simulator.acceptance.stopping`);
      empty: it has no threshold. `fixed` takes the threshold last, 0: drafts have a fixed length.
    draft_sampling: how the engine drafts by default; None: its flags always state it.
    judges_blocks: whether it can judge a draft as a whole (Sun et al. 2024).
    schedule: writes γ by batch size. Takes the ranges, not all of γ 0, and the draft; None: the
      engine takes no schedule.
    scheduled: kinds of drafts that it schedules; None: all that it loads.
    lookup: writes at most γ tokens by lookup. Takes γ, the shortest and the longest match; None:
      the engine has no lookup.
    lookup_rule: which match its lookup copies from, in words.
    suffix: writes at most γ tokens by suffix decoding. Takes γ, the tree's depth, and whether other
      requests' outputs count, too; None: the engine has no suffix decoding.
    tree: writes trees of drafts. Takes depth, most children of a node, and nodes; None: no trees.
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
class PrintedCounts:
    """A text in which an engine prints how many of its drafts it accepted.

    form: a page of metrics, a log, or a JSON object.
    marks: strings by which a text is recognized: prefixes of metrics of a page, parts of log lines,
      keys of a JSON object. A text has one of them.
    read: returns counts from the text or the object, and from γ where the user states it.
    program: name of the program that prints the JSON; empty: the engine itself.
    """

    form: Literal["metrics", "log", "JSON"]
    marks: tuple[str, ...]
    read: Callable[[Any, int | None], Observation]
    program: str = ""


@dataclass(frozen=True, slots=True)
class EngineKind:
    """One kind of engine.

    start: starts it with a pair; None: specplan does not run it.
    connect: connects to a running server by URL; None: it has no server.
    takes: the optional settings that it takes, by their names in EngineSettings; other engines may
      not take them.
    draft_samplings: the ways of drafting that it has, its own default first.
    drafts_past_end: whether a block drafts γ tokens though fewer can still be emitted.
    drafts_with_prompt: whether the pass over the prompt verifies a draft already.
    acceptance: its source unless --laws states one: "engine", its servers score given texts;
      "local", this machine scores them; "counts", as "local", but profiles use its counters.
    in_turn: whether servers of several γ run one after the other by default.
    version_page: page of a server with a JSON object that has `version`; None: it has no such page.
    exports: writers of its settings; None: no way to set its γ is known.
    wall: the largest step that it captures as a graph by default; None: it captures none.
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
    version_page: str | None = None
    prints: tuple[PrintedCounts, ...] = ()
    exports: Exports | None = None
    wall: Wall | None = None

    @property
    def scores_texts(self) -> bool:
        """Whether its servers report the probabilities of given texts."""
        return self.acceptance == "engine"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Which engine decodes, how it drafts, and at what load.

    engine_command: command that starts it, as in a shell; None: its own program.
    draft_sampling: how it drafts; None: the engine's own default.
    concurrencies: numbers of requests at once, each a case.
    laws: who scores texts; None: the kind's own source.
    target_url, draft_url: running servers, each of one model without speculation.
    threads: threads of each model; None: as many as cores are free.
    servers: whether the servers of all γ run at once or in turn; None: the kind's default.
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
