"""Our BiLD sweeps, and Tables 1 and 3 to 5 of Kim et al. 2023 (BiLD): the paper's lines, and ours.

The sweeps are as `specplan validate --decoder bild --json` printed them (docs/bild.md).
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from estimator.validation.file import parse_rows
from figures import drawing
from figures.numbers import Numbers, numbers, published
from studies.bild.swept import NO_LOSS, BildRow, Sweep

# Named after the task and the draft, and after the sampling if it is not greedy.
FILES = (
    "translation-unaligned", "translation-aligned", "code-unaligned", "spelling-unaligned",
    "translation-unaligned-nucleus",
)  # fmt: skip
SOURCE = "ours: two cores of an AMD EPYC virtual machine, 2026-11-21 and 22, figures/results/bild"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSweep(Sweep):
    """One recorded sweep over BiLD's thresholds, of one pair of models on one task.

    task: "translation", "code" or "spelling".
    draft: "aligned" if the draft was trained on texts of the target, else "unaligned".
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
    """Returns the sweep of a task whose draft was aligned with the target, or None."""
    return next((s for s in measured() if (s.task, s.draft) == (task, "aligned")), None)


_NAMES = "whose dataset method quality speedup low high fallback_percent rollback_percent setting"


def compute_lines(table: str) -> Numbers:
    """Returns the lines that the paper prints in a table, then our lines for every sweep.

    A line has a method's quality (BLEU or ROUGE-L in the paper, the sweep's metric in ours), its
    speed-up over the large model with our interval over prompts, its large calls and rollbacks in
    per cent of the emitted tokens, and our thresholds or γ. Unknown numbers are None.
    """
    lines: list[tuple[Any, ...]] = []
    for dataset, method, quality, speedup, *calls in published(table).cells:
        lines.append(
            ("paper", dataset, method, quality, speedup, None, None, *(calls or (None, None)), "")
        )
    for sweep in measured():
        lines += [own_line(sweep, *method) for method in methods_of(table, sweep).items()]
    return numbers(_NAMES, lines)


def own_line(sweep: MeasuredSweep, method: str, row: BildRow | None) -> tuple[Any, ...]:
    """Returns our line of a table for one method; if row is None, all numbers in it are None."""
    named = ("ours", sweep.task, method)
    if row is None:
        return *named, *[None] * 6, ""
    setting = "" if row.most is None else f"{row.decoder}, γ = {row.most}"
    if row.decoder in ("bild", "window"):
        rollback = "∞" if row.rollback is None else f"{row.rollback:g}"
        setting = f"α_FB {row.fallback:g}, α_RB {rollback}"
    return (
        *(*named, sweep.score(row), row.measured, row.measured_low, row.measured_high),
        *(row.fallback_percent, row.rollback_percent, setting),
    )


def methods_of(table: str, sweep: MeasuredSweep) -> dict[str, BildRow | None]:
    """Returns our measurement for each method of a table; None if no measurement qualifies.

    The result is empty if the table does not show this sweep. BiLD has a measurement for each pair
    of thresholds. Tables 1 and 5 show the fastest that loses no quality, and the fastest that loses
    at most one point; Table 5 also the one with the best quality. Table 3 shows speculative
    decoding at its fastest γ, the best BiLD that is at least as fast, and the fastest BiLD that is
    at least as good. Table 4 shows the fastest BiLD that loses no quality.
    """
    bild, draft = sweep.of("bild"), sweep.draft
    no_loss, one_point = (sweep.fastest("bild", loss=loss) for loss in (NO_LOSS, 1.0))
    match table:
        case "bild-table1" if sweep.sampling == "greedy":
            vanilla = {"vanilla": sweep.large} if sweep.is_plain else {}
            return vanilla | {f"{draft}, no loss": no_loss, f"{draft}, 1 point": one_point}
        case "bild-table3" if sweep.is_plain:
            strict = sweep.fastest_strict
            as_fast = [row for row in bild if row.measured >= strict.measured]
            as_good = [row for row in bild if sweep.score(row) >= sweep.score(strict)]
            return {
                "vanilla": sweep.large,
                "rejection sampling": strict,
                "BiLD, its latency": max(as_fast, key=sweep.score, default=None),
                "BiLD, its quality": max(as_good, key=lambda row: row.measured, default=None),
            }
        case "bild-table4" if sweep.is_plain:
            return {"rejection sampling": sweep.fastest_strict, "BiLD": no_loss}
        case "bild-table5" if sweep.sampling == "nucleus 0.8":
            best = {"vanilla": sweep.large, "BiLD": max(bild, key=sweep.score)}
            return best | {"BiLD, no loss": no_loss, "BiLD, 1 point": one_point}
    return {}


def draw_lines(lines: Numbers, caption: drawing.Caption) -> drawing.Figure:
    """Returns a table with a row for each data set and a column for each method.

    Cells include the percentages of fallbacks and rollbacks if the paper prints them.
    """
    methods = lines.distinct("method")
    percentages = lines["fallback_percent"][0] is not None
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        texts = rows.setdefault(f"{line.dataset}, {line.whose}", {})
        texts[line.method] = cell(line, percentages=percentages)
    cells = [(name, *(of.get(method, "–") for method in methods)) for name, of in rows.items()]
    by_column = zip(("", *methods), *cells, strict=True)
    columns = {column[0]: 3.0 + max(map(len, column)) for column in by_column}
    metrics = "BLEU of translation and spelling, agreement with the large model (%) of code"
    size = (max(7.2, 0.082 * sum(columns.values())), 1.2 + 0.33 * (len(cells) + 1))
    ours = f"{SOURCE}: {metrics}"
    return caption.table(cells, columns=columns, size=size, ours=ours, loss=NO_LOSS)


def cell(line: Any, *, percentages: bool) -> str:
    """Returns a cell's text: quality, speed-up with its interval and, if requested, percentages."""
    if line.quality is None or line.speedup is None:
        return "none"
    text = f"{line.quality:.2f}  {line.speedup:.2f}×"
    if line.low is not None and line.high is not None and line.low < line.high:
        text += f" [{line.low:.2f}, {line.high:.2f}]"
    if percentages and line.fallback_percent is not None and line.rollback_percent is not None:
        text += f"  {line.fallback_percent:.1f} / {line.rollback_percent:.1f} %"
    return text
