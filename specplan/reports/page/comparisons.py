"""The sections of a comparison and of validations."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from estimator.validation.file import SPECULATIVE, ValidationRow, parse_validation
from figures.drawing import short_name
from simulator.choice.odds import percentage
from simulator.numerics.intervals import percent
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import (
    Chart,
    Section,
    Table,
    Threshold,
    between,
    number,
    ranged,
    series,
)
from specplan.reports.trust import intervals_line, noise_line, trust_lines
from specplan.reports.verdict import deciding

_SPEED = "speed-up"
_COLUMNS = ("number", "A", "B", "B minus A", "shown by these prompts", "prompts that would show it")
_OWN_BEST = "each at its best K"
_OWN = " best: each at its own best K."
_READ = (
    "Speed-ups over decoding without speculation. Predicted: from costs that were measured apart, "
    "with the acceptance of the measured texts; before the run: of other texts that the target "
    "wrote for these prompts. Error: predicted over measured, less one. Doubts: impossible values."
)
_MEASURED = ("setting", "predicted", "before the run", "measured", "error, %", "doubts")


def comparison_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan compare`."""
    comparison, rows = document.data, document.data["differences"]
    sides = {side.upper(): comparison[side] for side in "ab"}
    gains = [point for point in rows if point["number"].startswith(_SPEED)]
    names = [_setting(point["number"]).removeprefix(_SPEED).strip(", ") for point in gains]
    names = [name.removeprefix("at gamma ").replace(_OWN_BEST, "best") for name in names]
    bars = [
        bar
        for colour, side in enumerate("ab")
        for bar in series(
            f"{side.upper()}: {short_name(comparison[side]['draft'])}", colour,
            ((at, point[side]) for at, point in enumerate(gains)), "bars",
        )
    ]  # fmt: skip
    differences = series(
        "B minus A", 2,
        ((at, point["difference"], point["low"], point["high"]) for at, point in enumerate(gains)),
        "dots",
    )  # fmt: skip
    charts = [
        Chart("speed-up", "Speed-up of A and B",
              "Bars of one draft length are paired." + _OWN * ("best" in names), "K",
              "times the speed without speculation", bars,
              levels=[Threshold(1.0, "without speculation")], categories=names),
        Chart("difference", "Difference of speed-ups",
              f"B minus A on the same prompts, with {percent()} intervals. An interval that "
              "contains 0 does not distinguish A from B.", "K",
              "B minus A, times the speed without", differences,
              levels=[Threshold(0.0, "")], categories=names),
    ]  # fmt: skip
    cells = [
        [_setting(point["number"]), number(point["a"], 3), number(point["b"], 3),
         number(point["difference"], 3) + between(point["low"], point["high"], 3), _verdict(point),
         "-" if point["prompts_needed"] is None else f"{point['prompts_needed']:,}"]
        for point in rows
    ]  # fmt: skip
    advice, _, further = comparison["verdict"].partition(". ")
    return Section(
        kind="Comparison",
        about=", ".join(f"{name} = {short_name(side['draft'])} for {short_name(side['target'])}"
                        for name, side in sides.items()),
        headline=f"{advice.rstrip('.')}.",
        sure=[
            *filter(None, re.split(r"(?<=\.) (?=[A-Z])", further)),
            f"Intervals ({percent()}) are of differences on the same prompts.",
        ],
        basis="; ".join([f"Rests on the same {comparison['a']['prompts']} prompts in both files", *(
            f"{name} measured on {side['measured']}" for name, side in sides.items()
            if side.get("measured"))]) + ".",
        charts=charts if gains else [],
        tables=[Table("A and B", _COLUMNS, cells)],
        inputs=[
            (f"{name}: {key}", str(value))
            for name, side in sides.items() for key, value in side.items()
            if key not in ("command", "gain_probability") and value != ""
        ],
        flags=deciding(comparison.get("next_commands", ())) | _in_order(document.flags, advice),
        command=_commands(document, sides),
    )  # fmt: skip


def _in_order(flags: Mapping[str, str], advice: str) -> dict[str, str]:
    """Returns the flags of both sides, with the side to take first."""
    later = "A =" if advice.startswith("Take B") else "B ="
    return dict(sorted(flags.items(), key=lambda named: named[0].startswith(later)))


def _commands(document: Document, sides: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Returns the commands that measured both sides, and the one that compares them."""
    known = {name: side for name, side in sides.items() if side["command"] is not None}
    measured = [f"# {at}, into {side['file']}:\n{side['command']}" for at, side in known.items()]
    return "\n".join([*measured, *filter(None, [document.command])]) or None


def _setting(name: str) -> str:
    """Returns the name of a number on the page; a pair of draft lengths is each side's best."""
    if name.startswith(_SPEED) and " and " in name:
        return f"{_SPEED}, {_OWN_BEST}"
    return {"alpha": "α"}.get(name, name)


def _verdict(point: Mapping[str, Any]) -> str:
    if point["low"] is None:
        return "one prompt: no interval"
    higher = point["higher_probability"]
    how, chance = ("higher", higher) if point["difference"] > 0 else ("lower", 1 - higher)
    sure = "almost certain" if point["told_apart"] else "not decided"
    return f"B is {how}: {percentage(chance)}, {sure}"


def _fastest_command(rows: Sequence[ValidationRow]) -> dict[str, str]:
    """Returns the command that decodes as the fastest row without doubt; {} if nothing gains."""
    best = max((row for row in rows if not row.doubts), key=lambda row: row.measured, default=None)
    if best is None or best.gamma is None or best.measured <= 1:
        return {}
    words = ["specplan", "generate", "--target", best.target, "--draft", best.draft]
    words += ["--gamma", str(best.gamma), "--temperature", f"{best.temperature:g}"]
    if best.draft_temperature not in (None, best.temperature):
        words += ["--draft-temperature", f"{best.draft_temperature:g}"]
    return {"specplan's own decoder": shlex.join(words)}


def validation_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan validate`."""
    results = parse_validation(document.data, name=document.file or "the answer")
    level = percent(results.confidence)
    names, cells, parts, shown = list[str](), [], [], []
    several = len({(result.draft, result.temperature) for result in results.rows}) > 1
    for result, data in zip(results.rows, document.data["rows"], strict=True):
        setting = f"{short_name(result.draft)}, temperature {result.temperature:g}, " * several
        at = result.policy if result.gamma is None else f"K = {result.gamma}"
        name = f"{setting}{at}"
        if result.predicted is not None:
            ahead = [data.get(f"predicted_ahead{end}") for end in ("", "_low", "_high")]
            names.append(name)
            shown.append((result, [result.predicted] if None in ahead else ahead))
        cells.append([
            name, number(result.predicted), ranged(data, "predicted_ahead"),
            ranged(data, "measured"),
            number(result.error_percent, 1), " ".join(result.doubts) or "none",
        ])  # fmt: skip
        if result.parts_seconds is not None and sum(result.parts_seconds) > 0:
            parts.append((name, result.parts_seconds))
    ahead_shown = any(len(ahead) > 1 for _, ahead in shown)
    chart = Chart(
        "predicted", "Predicted and measured speed-up",
        "Left of each pair: predicted; right: measured. They should be at one height. The vertical "
        f"line of a measurement is where other prompts may lie ({level})"
        f"{f'; of a prediction, where the measurement may lie ({level})' * ahead_shown}.",
        "", "times the speed without speculation",
        [
            *series("predicted" + " before the run" * ahead_shown, 1, (
                (at, *ahead) for at, (_, ahead) in enumerate(shown)
            ), "dots"),
            *series("measured", 0, (
                (at, row.measured, row.measured_low, row.measured_high)
                for at, (row, _) in enumerate(shown)
            ), "dots"),
        ],
        levels=[Threshold(1.0, "without speculation")], categories=names,
    )  # fmt: skip
    tables = [Table(_READ, _MEASURED, cells)]
    if parts:
        seconds = [[name, *(number(part, 3) for part in times)] for name, times in parts]
        tables.append(
            Table("Where the time goes, seconds", ["", "draft", "verify", "other"], seconds)
        )
    summary = document.data.get("summary") or {}
    lossless = all(row.get("lossless", True) for row in document.data["rows"])
    headline, *further = trust_lines(results.rows, summary)
    return Section(
        kind="Validation",
        about=", ".join(
            filter(None, [*sorted({result.target for result in results.rows}), document.file])
        ),
        headline=headline,
        sure=[
            *further, *noise_line(summary),
            intervals_line(results.confidence),
        ],
        charts=[chart] * bool(shown),
        tables=tables,
        flags=_fastest_command(results.rows) if results.decoder == SPECULATIVE and lossless else {},
        inputs=document.inputs,
        command=document.command,
    )  # fmt: skip
