"""Our own BiLD sweeps, as `specplan validate --decoder bild --json` printed them (docs/bild.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from estimator.validation.file import parse_rows
from figures import drawing
from studies.bild.swept import BildRow, Sweep

# Named after the task and the draft, and after the sampling if it is not greedy.
FILES = (
    "translation-unaligned", "translation-aligned", "code-unaligned", "spelling-unaligned",
    "translation-unaligned-nucleus",
)  # fmt: skip
SOURCE = "ours: two cores of an AMD EPYC virtual machine, 2026-11-21 and 22, figures/results/bild"
METRICS = {"bleu": "BLEU", "agreement": "agreement with the large model, %", "rouge_l": "ROUGE-L"}


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
        """The fastest row of lossless ("strict") speculative decoding."""
        return max(self.of("strict"), key=lambda row: row.measured)


@cache
def measured() -> tuple[MeasuredSweep, ...]:
    return tuple(map(_read, FILES))


def _read(name: str) -> MeasuredSweep:
    content = (files("figures") / "results" / "bild" / f"{name}.json").read_bytes()
    document: dict[str, Any] = msgspec.json.decode(content)
    [summary] = document["summaries"]
    task, draft = name.split("-")[:2]
    return MeasuredSweep(
        rows=parse_rows(document["rows"], BildRow, name=name),
        **{name: summary[name] for name in ("metric", "c", "noise_percent")},
        **{name: document[name] for name in ("repeats", "prompts")},
        task=task,
        draft=draft,
        sampling=f"nucleus {document['top_p']:g}" if summary["temperature"] else "greedy",
    )


def aligned(task: str) -> MeasuredSweep | None:
    """Returns a task's sweep with an aligned draft; None if there is none."""
    return next((s for s in measured() if (s.task, s.draft) == (task, "aligned")), None)


def rollback_name(threshold: float | None) -> str:
    """Returns BiLD's rollback threshold in words."""
    return "no rollback" if threshold is None else f"rollback {threshold:g}"


def aims(axes: drawing.Axes, quality: float) -> None:
    """Draws two horizontal lines: the large model's quality, and one point below."""
    for height, dashes in ((quality, "-"), (quality - 1, ":")):
        axes.axhline(height, color=drawing.GREY, linewidth=1, linestyle=dashes)


def prepare(axes: drawing.Axes, sweep: MeasuredSweep, *, panel: str) -> None:
    """Draws the large model's mark and the lines of `aims`, and names the axes."""
    quality = sweep.score(sweep.large)
    aims(axes, quality)
    axes.plot(1, quality, "X", color=drawing.INK, markersize=9, label="large model alone", zorder=3)
    x, heading = "seconds per token over the large model's", f"{panel} ({sweep.prompts} prompts)"
    drawing.name_axes(axes, x=x, y=METRICS[sweep.metric], panel=heading)


def draw_rows(
    axes: drawing.Axes,
    sweep: MeasuredSweep,
    rows: Sequence[BildRow],
    *,
    name: str,
    colour: str,
    mark: str,
) -> None:
    """Draws rows of a sweep as marks, with a line along their Pareto front."""
    best, every = (
        ([row.latency for row in some], [sweep.score(row) for row in some])
        for some in (sweep.front(rows), rows)
    )
    axes.plot(*best, color=colour, linewidth=1.8)
    axes.plot(*every, mark, color=colour, markersize=5.5, label=name)
