"""Requests for runs on an engine: every setting that is read, by the name of its option."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from engines.kind import EngineKind, EngineSettings, Models, engine_kinds, listed, names_of
from estimator.draft_names.suitable import served_name
from estimator.model_shapes.gguf_names import named_gguf
from estimator.settings import PromptSettings, TimingSettings
from reference.models.embedded import EMBEDDED

if TYPE_CHECKING:
    from engines.engine import Engine
    from estimator.loading.folders import FolderPair
    from estimator.traces.traces import DraftSampling

# Positions left free beyond the longest prompt, its text and a draft.
SPARE_POSITIONS = 8
# Measurements time no larger γ, and these smaller ones.
MOST_PRICED = 8
FEW_PRICED = (1, 2, 4)


@dataclass(frozen=True, kw_only=True)
class OnEngine:
    """The settings of every run on an engine.

    text: source of prompts, of which twice the requested number is read. A trial predicts decoding
      of the first half and times steps on the second half. A tuning uses the first half only.
    target, drafts: names of the models; see `estimator.loading.folders.folder_pair`.
    """

    engine: EngineSettings
    text: PromptSettings
    timing: TimingSettings
    seed: int
    target: str | None = None
    drafts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        engine, kind = self.engine, self.kind
        self._require_taken("engine-command", engine.engine_command)
        self._require_taken("threads", engine.threads)
        if engine.target_url is not None and kind.connect is None:
            owners = _owners(lambda kind: kind.connect)
            raise ValueError(f"a running server must be {owners}, got {kind.name}")
        if engine.draft_sampling not in (None, *kind.draft_samplings):
            raise ValueError(
                f"draft-sampling must be {' or '.join(kind.draft_samplings)} with {kind.name}, "
                f"got {engine.draft_sampling}"
            )
        if self.timing.precision is not None and not self.together:
            raise ValueError(
                f"precision needs {kind.name}'s servers together: in turn, no speed-up is known "
                "before the last one has run"
            )
        if engine.laws == "engine" and not (kind.scores_texts or self._loads_gguf):
            raise ValueError(
                f"laws must be local with {kind.name}, whose server scores no given text"
            )
        if not any(map(named_gguf, (self.target, *self.drafts))):
            served_name(EMBEDDED if self.target is None else self.target, self.drafts)
        if min(engine.concurrencies) < 1:
            raise ValueError(f"concurrency must be at least 1, got {min(engine.concurrencies)}")
        require_prompts(engine.concurrencies, self.text)
        if self.text.max_new_tokens < 2:
            raise ValueError(
                "max-new-tokens must be at least 2 with `engine`, the first token being the "
                f"prompt's, got {self.text.max_new_tokens}"
            )

    @property
    def kind(self) -> EngineKind:
        """The kind of engine; refuses an engine that specplan does not run."""
        runs = names_of(lambda kind: kind.start)
        if self.engine.engine not in runs:
            raise ValueError(f"engine must be one of {', '.join(runs)}, got {self.engine.engine}")
        return engine_kinds()[self.engine.engine]

    @contextmanager
    def ready(
        self, longest: int, running: Engine | None = None
    ) -> Iterator[tuple[FolderPair, Engine]]:
        """Yields the pair with its prompts, see `gguf_pair` and `folder_pair`, and its engine.

        longest: largest number of tokens of a draft. running: the engine, if it runs already.
        """
        from engines.servers.gguf_pairs import gguf_pair  # imports torch
        from estimator.loading.folders import folder_pair

        with TemporaryDirectory(prefix="specplan-") as name:
            stated, folder = (self.target, self.drafts, self.text), Path(name)
            gguf = gguf_pair(*stated, self.engine) if self._loads_gguf else None
            pair = folder_pair(*stated, folder) if gguf is None else gguf
            tokens = max(map(len, pair.prompts)) + self.text.max_new_tokens
            models = Models(pair.target, pair.draft, folder, tokens + longest + SPARE_POSITIONS)
            assert self.kind.start is not None  # `kind` gives no others
            yield pair, self.kind.start(models, self.engine) if running is None else running

    @property
    def draft_sampling(self) -> DraftSampling:
        """How drafts are chosen: as requested, else by the engine's default."""
        return self.engine.draft_sampling or self.kind.draft_samplings[0]

    @property
    def together(self) -> bool:
        """Whether the servers of all γ run at once, rather than one after the other."""
        stated = self.engine.servers
        return not self.kind.in_turn if stated is None else stated == "together"

    @property
    def _loads_gguf(self) -> bool:
        return "gguf" in self.kind.takes

    def _require_taken(self, option: str, value: object) -> None:
        name = option.replace("-", "_")
        if value is not None and name not in self.kind.takes:
            owners = _owners(lambda kind: name in kind.takes)
            raise ValueError(f"{option} must be {owners}, got {self.kind.name}")


@dataclass(frozen=True, kw_only=True)
class ValidateEngine(OnEngine):
    """A comparison of predicted with measured decoding on an engine, at each γ and temperature.

    synthetic: unconditional acceptance rates by position, which the engine simulates; None: the
      engine verifies drafts.
    server: URL of a running server of the pair; None: one is started for each γ.
    """

    gammas: tuple[int, ...]
    temperatures: tuple[float, ...]
    synthetic: tuple[float, ...] | None = None
    server: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_taken("synthetic", self.synthetic)
        if (self.server is None) != (self.engine.target_url is None):
            raise ValueError("server and target-url must be given together, got one of them")
        longest, shortest = max(self.gammas, default=1), min(self.gammas, default=1)
        if shortest < 1:
            raise ValueError(f"gamma must be at least 1 with `engine`, got {shortest}")
        rates = self.synthetic
        if rates is not None and len(rates) < longest:
            raise ValueError(
                f"synthetic must have a rate for each of {longest} positions, got {len(rates)}"
            )
        if rates is not None and not all(a >= b for a, b in pairwise((1, *rates, 0))):
            raise ValueError(
                "synthetic must be rates in [0, 1] of which none is above the one before it, "
                f"got {', '.join(f'{rate:g}' for rate in rates)}"
            )
        count = len(set(self.gammas))
        if self.server is not None and count > 1:
            raise ValueError(f"gamma must be the server's own, one number, got {count} of them")

    @property
    def priced_gammas(self) -> tuple[int, ...]:
        """The γ whose steps are timed, for the cost model."""
        return priced_gammas(self.gammas, off_line=self.kind.off_line)


@dataclass(frozen=True, kw_only=True)
class MeasureEngine(OnEngine):
    """A measurement of acceptance and step times on an engine, written as a profile.

    max_gamma: the largest γ whose acceptance is replayed.
    output: file for the profile; traces are written to the same folder.
    """

    temperature: float
    max_gamma: int
    output: Path | None = None

    def __post_init__(self) -> None:
        count = len(self.engine.concurrencies)
        if count != 1:
            raise ValueError(
                "concurrency must be one number with measure, each a profile of its own, got "
                f"{count} of them"
            )
        super().__post_init__()
        if (self.engine.target_url is None) != (self.engine.draft_url is None):
            raise ValueError("target-url and draft-url must be given together, got one of them")

    @property
    def counted(self) -> bool:
        """Whether acceptance comes from the engine's counters, which need a server that drafts."""
        running = self.engine.target_url is not None
        return self.kind.acceptance == "counts" and self.engine.laws is None and not running

    @property
    def priced_gammas(self) -> tuple[int, ...]:
        """The γ whose steps are timed, for the cost model; none with running servers."""
        if self.engine.target_url is not None:
            return ()
        longest = min(self.max_gamma, MOST_PRICED)
        gammas = (*(gamma for gamma in FEW_PRICED if gamma < longest), longest)
        return priced_gammas(gammas, off_line=self.kind.off_line)


def require_prompts(concurrencies: Sequence[int], text: PromptSettings) -> None:
    """Refuses more simultaneous requests than there are prompts."""
    if max(concurrencies) > text.num_prompts:
        raise ValueError(
            f"concurrency must be at most the number of prompts, {text.num_prompts} here, got "
            f"{max(concurrencies)}"
        )


def _owners(has: Callable[[EngineKind], object]) -> str:
    return listed([f"{name}'s" for name in names_of(has)])


def priced_gammas(
    gammas: Sequence[int], *, off_line: frozenset[int] = frozenset()
) -> tuple[int, ...]:
    """Returns the γ to time: smallest, largest, and one between to check the line through both.

    off_line: γ that are timed if given, but not to find the line; see `EngineKind`.
    """
    given = set(gammas)
    ordered = sorted(given - off_line or given)
    ends = {ordered[0], ordered[len(ordered) // 2], ordered[-1]}
    return tuple(sorted(ends | (given & off_line)))
