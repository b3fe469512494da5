"""Our own BiLD sweeps, as `specplan validate --decoder bild --json` printed them (docs/bild.md)."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from estimator.validation.file import parse_rows
from studies.bild.swept import BildRow, Sweep

# Named after the task and the draft, and after the sampling if it is not greedy.
FILES = (
    "translation-unaligned", "translation-aligned", "code-unaligned", "spelling-unaligned",
    "translation-unaligned-nucleus",
)  # fmt: skip
SOURCE = "ours: two cores of an AMD EPYC virtual machine, 2026-11-21 and 22, figures/results/bild"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSweep(Sweep):
    """One sweep of a pair.

    task: "translation", "code" or "spelling".
    draft: "unaligned" or "aligned".
    sampling: "greedy" or "nucleus 0.8".
    """

    task: str
    draft: str
    sampling: str

    @property
    def is_plain(self) -> bool:
        """Whether the draft is unaligned and decoding is greedy."""
        return (self.draft, self.sampling) == ("unaligned", "greedy")

    @property
    def fastest_strict(self) -> BildRow:
        """Speculative decoding at its best γ."""
        return max(self.of("strict"), key=lambda row: row.measured)


@cache
def measured() -> tuple[MeasuredSweep, ...]:
    folder = files("figures") / "results" / "bild"
    return tuple(_sweep(name, (folder / f"{name}.json").read_bytes()) for name in FILES)


def aligned(task: str) -> MeasuredSweep | None:
    """Returns a task's sweep with an aligned draft; None if there is none."""
    return next((s for s in measured() if (s.task, s.draft) == (task, "aligned")), None)


def _sweep(name: str, content: bytes) -> MeasuredSweep:
    document: dict[str, Any] = msgspec.json.decode(content)
    [summary] = document["summaries"]
    task, draft = name.split("-")[:2]
    return MeasuredSweep(
        rows=parse_rows(document["rows"], BildRow, name=name),
        metric=summary["metric"],
        c=summary["c"],
        noise_percent=summary["noise_percent"],
        repeats=document["repeats"],
        task=task,
        draft=draft,
        sampling=f"nucleus {document['top_p']:g}" if summary["temperature"] else "greedy",
        prompts=document["prompts"],
    )
