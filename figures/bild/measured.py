"""Our own BiLD sweeps, as `specplan validate --decoder bild --json` printed them (docs/bild.md)."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from estimator.validation.file import parse_rows
from studies.bild.swept import BildRow

# Named after the task and the draft, and after the sampling if it is not greedy.
FILES = (
    "translation-unaligned", "translation-aligned", "code-unaligned", "spelling-unaligned",
    "translation-unaligned-nucleus",
)  # fmt: skip
SOURCE = "ours: two cores of an AMD EPYC virtual machine, 2026-11-21 and 22, figures/results/bild"


class MeasuredRow(BildRow, frozen=True, kw_only=True):
    """Measurement of one decoder; metric: the name of the sweep's main metric."""

    metric: str

    @property
    def score(self) -> float:
        """Quality by the main metric."""
        return self.quality[self.metric]

    @property
    def latency(self) -> float:
        """Seconds per token over the large model's."""
        return 1 / self.measured


@dataclass(frozen=True, slots=True)
class MeasuredSweep:
    """One sweep of a pair.

    task: "translation", "code" or "spelling".
    draft: "unaligned" or "aligned".
    sampling: "greedy" or "nucleus 0.8".
    prompts: number of prompts.
    """

    task: str
    draft: str
    sampling: str
    prompts: int
    rows: tuple[MeasuredRow, ...]

    @property
    def is_plain(self) -> bool:
        """Whether the draft is unaligned and decoding is greedy."""
        return (self.draft, self.sampling) == ("unaligned", "greedy")

    @property
    def large(self) -> MeasuredRow:
        """The large model's row."""
        return self.of("large")[0]

    @property
    def fastest_strict(self) -> MeasuredRow:
        """Speculative decoding at its best γ."""
        return max(self.of("strict"), key=lambda row: row.measured)

    def of(self, decoder: str) -> list[MeasuredRow]:
        """Returns the rows of a decoder, in the order of the sweep."""
        return [row for row in self.rows if row.decoder == decoder]

    def fastest(self, rows: list[MeasuredRow], *, loss: float) -> MeasuredRow | None:
        """Returns the fastest row that loses at most `loss` points; None if all lose more."""
        able = [row for row in rows if row.score >= self.large.score - loss]
        return max(able, key=lambda row: row.measured, default=None)


@cache
def measured() -> tuple[MeasuredSweep, ...]:
    """Returns the sweeps of FILES."""
    folder = files("figures") / "results" / "bild"
    return tuple(_sweep(name, (folder / f"{name}.json").read_bytes()) for name in FILES)


def aligned(task: str) -> MeasuredSweep | None:
    """Returns a task's sweep with an aligned draft; None if there is none."""
    return next((s for s in measured() if (s.task, s.draft) == (task, "aligned")), None)


def _sweep(name: str, content: bytes) -> MeasuredSweep:
    document: dict[str, Any] = msgspec.json.decode(content)
    [summary] = document["summaries"]
    rows = [{**row, "metric": summary["metric"]} for row in document["rows"]]
    task, draft = name.split("-")[:2]
    sampling = f"nucleus {document['top_p']:g}" if summary["temperature"] else "greedy"
    return MeasuredSweep(
        task, draft, sampling, document["prompts"], parse_rows(rows, MeasuredRow, name=name)
    )
