"""Our measurements on the embedded target, which are drawn together with the paper's numbers.

`benchmarks/blockwise_drafts.py` and `benchmarks/lattice_rescoring.py` wrote the two files.
"""

from functools import cache
from importlib.resources import files

import msgspec

from simulator.numerics.intervals import FORMER_CONFIDENCE, percent
from studies.blockwise.records import Analysis, Way

OURS = "embedded (Python)"
PAPER = "Kim et al. 2024 (blockwise drafts)"


class Sizes(msgspec.Struct, frozen=True):
    """Number of weights of each model, and of values per token in its cache."""

    target: int
    heads: int
    neural: int
    target_cache: int
    neural_cache: int


class AnalysisSetup(msgspec.Struct, frozen=True):
    """The analysed models."""

    sizes: Sizes


class OwnAnalysis(Analysis, frozen=True, kw_only=True):
    """The analysis of the embedded target."""

    setup: AnalysisSetup

    @property
    def ways(self) -> dict[str, Way]:
        """The drafting methods by name."""
        return {way.name: way for way in self.variants}


class LatticeTime(msgspec.Struct, frozen=True):
    """Milliseconds to find `paths` paths of a lattice, with an interval over lattices."""

    order: int
    steps: int
    arcs: int
    paths: int
    ms: float
    low: float
    high: float


class TimesSetup(msgspec.Struct, frozen=True):
    """Setting of the time measurements; ngrams: number of n-grams of each order in a model."""

    lattices: int
    repeats: int
    ngrams: dict[str, list[int]]
    numpy: str
    date: str


class LatticeTimes(msgspec.Struct, frozen=True):
    """The times of rescoring lattices."""

    rows: tuple[LatticeTime, ...]
    setup: TimesSetup
    confidence: float = FORMER_CONFIDENCE


def _read(name: str) -> bytes:
    return (files("figures") / "results" / name).read_bytes()


@cache
def analysis() -> OwnAnalysis:
    """Returns the output of `specplan heads analyse` for the embedded target."""
    return msgspec.json.decode(_read("blockwise.json"), type=OwnAnalysis)


@cache
def latencies() -> LatticeTimes:
    """Returns the times of rescoring lattices."""
    return msgspec.json.decode(_read("lattice.json"), type=LatticeTimes)


def said() -> str:
    """Returns the origin of our numbers, for the small print."""
    ours = analysis()
    return (
        f"Ours: {ours.texts} greedy texts of {ours.tokens} tokens in all from held-out "
        f"library code, {ours.heads} heads, lattices of {ours.k} tokens a head, weights "
        f"tuned on {ours.tuning_texts} other texts; {percent(ours.confidence)} intervals over texts"
    )
