"""Our own BiLD sweeps: what `benchmarks/bild.py` gathered in figures/results/bild.json."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from estimator.validation.file import parse_rows
from studies.bild.swept import BildRow

NO_LOSS = 0.1
"""Points of the metric that "no loss" may lose: what Table 1 of Kim et al. 2023 lets it lose."""


@dataclass(frozen=True, slots=True)
class Row:
    """One way to decode.

    decoder: "large" or "small" (alone), "bild", "window" (BiLD without its fallback), "strict" or
      "lenient".
    fallback, rollback: BiLD's thresholds; a rollback of None: none.
    most: the longest draft.
    quality: by the sweep's metric.
    speedup, low, high: over the large model alone, with the 95 % interval over prompts.
    large_percent, rollback_percent: large calls, and those that replaced a drafted token, over
      emitted tokens.
    """

    decoder: str
    fallback: float | None
    rollback: float | None
    most: int | None
    quality: float
    speedup: float
    low: float | None
    high: float | None
    large_percent: float
    rollback_percent: float

    @property
    def latency(self) -> float:
        """Seconds per token over the large model's alone."""
        return 1 / self.speedup


@dataclass(frozen=True, slots=True)
class Sweep:
    """One sweep of a pair.

    task: "translation", "code" or "spelling".
    draft: "unaligned" or "aligned".
    sampling: "greedy" or "nucleus 0.8".
    metric: of quality.
    prompts: how many.
    """

    task: str
    draft: str
    sampling: str
    metric: str
    prompts: int
    rows: tuple[Row, ...]

    @property
    def is_plain(self) -> bool:
        """Whether the draft is not aligned and nothing is sampled."""
        return (self.draft, self.sampling) == ("unaligned", "greedy")

    @property
    def large(self) -> Row:
        """The large model alone."""
        return self.of("large")[0]

    @property
    def fastest_strict(self) -> Row:
        """Speculative decoding at its best γ."""
        return max(self.of("strict"), key=lambda row: row.speedup)

    def of(self, decoder: str) -> list[Row]:
        """Returns a decoder's rows, in the order of the sweep."""
        return [row for row in self.rows if row.decoder == decoder]

    def fastest(self, rows: list[Row], *, loss: float) -> Row | None:
        """Returns the fastest of the rows that lose at most so many points; None: all lose more."""
        able = [row for row in rows if row.quality >= self.large.quality - loss]
        return max(able, key=lambda row: row.speedup, default=None)


@dataclass(frozen=True, slots=True)
class Measured:
    """All sweeps, and where and when they ran."""

    machine: str
    date: str
    sweeps: tuple[Sweep, ...]

    def sweep(self, task: str, draft: str = "unaligned", sampling: str = "greedy") -> Sweep | None:
        """Returns the sweep of that name; None if none was measured."""
        for sweep in self.sweeps:
            if (sweep.task, sweep.draft, sweep.sampling) == (task, draft, sampling):
                return sweep
        return None

    @property
    def source(self) -> str:
        """Names the measurement in small print."""
        return f"ours: {self.machine}, {self.date}, figures/results/bild.json"


@cache
def measured() -> Measured:
    """Returns what the file holds."""
    path = files("figures") / "results" / "bild.json"
    held = json.loads(path.read_text(encoding="utf-8"))
    return Measured(held["machine"], held["date"], tuple(map(_sweep, held["sweeps"])))


def _sweep(held: dict[str, Any]) -> Sweep:
    """Returns a sweep, each row's quality by its metric."""
    rows = tuple(
        Row(
            row.decoder, row.fallback, row.rollback, row.most, row.quality[held["metric"]],
            row.measured, row.measured_low, row.measured_high, row.fallback_percent,
            row.rollback_percent,
        )
        for row in parse_rows(held["rows"], BildRow, name="bild.json")
    )   # fmt: skip
    names = ("task", "draft", "sampling", "metric", "prompts")
    return Sweep(**{name: held[name] for name in names}, rows=rows)
