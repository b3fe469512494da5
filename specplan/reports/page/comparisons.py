"""The sections of a comparison and of validations."""

from collections.abc import Mapping
from typing import Any

from estimator.validation.file import Validated
from figures.drawing import short_name
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

_SPEED = "speed-up"


def comparison_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan compare`."""
    found, rows = document.data, document.data["differences"]
    sides = {side.upper(): found[side] for side in "ab"}
    gains = [point for point in rows if point["number"].startswith(_SPEED)]
    names = [point["number"].removeprefix("speed-up at gamma ") for point in gains]
    bars = [
        each
        for colour, side in enumerate("ab")
        for each in series(
            f"{side.upper()}: {short_name(found[side]['draft'])}", colour,
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
              "Bars of one draft length are paired.", "K",
              "times the speed without speculation", bars,
              levels=[Threshold(1.0, "without speculation")], categories=names),
        Chart("difference", "Difference of speed-ups",
              f"B minus A on the same prompts, with {percent()} intervals. An interval that "
              "contains 0 does not distinguish A from B.", "K", "B minus A", differences,
              levels=[Threshold(0.0, "")], categories=names),
    ]  # fmt: skip
    cells = [
        [point["number"], number(point["a"], 3), number(point["b"], 3),
         number(point["difference"], 3) + between(point["low"], point["high"], 3), _verdict(point)]
        for point in rows
    ]  # fmt: skip
    return Section(
        kind="Comparison",
        about=", ".join(f"{name} = {short_name(side['draft'])} for {short_name(side['target'])}"
                        for name, side in sides.items()),
        headline=found["verdict"],
        sure=[f"Paired over {found['a']['prompts']} prompts. Intervals: {percent()}."],
        charts=charts if gains else [],
        tables=[Table("Numbers", ["", "A", "B", "B minus A", ""], cells)],
        inputs=[
            (f"{name}: {key}", str(value))
            for name, side in sides.items() for key, value in side.items()
        ],
        command=document.command,
    )  # fmt: skip


def _verdict(point: Mapping[str, Any]) -> str:
    if point["low"] is None:
        return "one prompt: no interval"
    if not point["told_apart"]:
        return "not distinguishable"
    return f"B is {'higher' if point['difference'] > 0 else 'lower'}, almost certain"


def validation_section(file: str, results: Validated, command: str | None = None) -> Section:
    """Returns the section of the JSON of `specplan validate`."""
    level = percent(results.confidence)
    dots: dict[str, list[tuple[Any, ...]]] = {}
    cells, parts = [], []
    for result in results.rows:
        data = result.data()
        name = f"{short_name(result.draft)}, temperature {result.temperature:g}"
        at = result.policy if result.gamma is None else f"K = {result.gamma}"
        if result.predicted is not None:
            point = (result.predicted, result.measured, result.measured_low, result.measured_high)
            dots.setdefault(name, []).append(point)
        cells.append([
            f"{name}, {at}", number(result.predicted), ranged(data, "predicted_ahead"),
            ranged(data, "measured"),
            number(result.error_percent, 1), " ".join(result.doubts),
        ])  # fmt: skip
        if result.parts_seconds is not None and sum(result.parts_seconds) > 0:
            parts.append((f"{name}, {at}", result.parts_seconds))
    chart = Chart(
        "predicted", "Predicted against measured",
        f"Speed-ups: on the dotted line the prediction is right. Bars: {level} of the measurement.",
        "predicted speed-up", "measured speed-up",
        [each for at, name in enumerate(dots) for each in series(name, at, dots[name], "dots")],
        diagonal=True,
    )  # fmt: skip
    columns = ["", "predicted", "predicted ahead", "measured", "error %", ""]
    tables = [Table("Speed-ups", columns, cells)]
    if parts:
        seconds = [[name, *(number(each, 3) for each in times)] for name, times in parts]
        tables.append(
            Table("Where the time goes, seconds", ["", "draft", "verify", "other"], seconds)
        )
    errors = [abs(error) for result in results.rows if (error := result.error_percent) is not None]
    return Section(
        kind="Validation",
        about=", ".join([*sorted({result.target for result in results.rows} - {""}), file]),
        headline=(
            f"The largest error of the predicted speed-ups is {max(errors):.1f} %."
            if errors else "No speed-up was predicted."
        ),
        sure=[f"Intervals: {level}, over prompts and repeats."],
        charts=[chart] * bool(dots),
        tables=tables,
        command=command,
    )  # fmt: skip
