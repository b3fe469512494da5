"""The page's charts as data: series of points, which its script draws and its tables list."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from estimator.profiles.best import added_by_position
from estimator.validation.file import Validated
from figures.drawing import short_name
from simulator.numerics.intervals import percent
from specplan.reports.page.inputs import Named, TrafficFile


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """One value with its interval; low and high are None if there is none."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one colour.

    colour: index from 0; all series of one draft have one colour.
    mark: solid line, dashed line, or single dots.
    """

    name: str
    colour: int
    mark: Literal["line", "dashed", "dots"]
    points: tuple[ChartPoint, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its title and a sentence on how to read it.

    diagonal: whether the line x = y is drawn and both axes have one scale.
    """

    key: str
    title: str
    reading: str
    x: str
    y: str
    series: tuple[Series, ...]
    diagonal: bool = False


def charts(
    drafts: Sequence[Named],
    validations: Sequence[Validated],
    traffic: Sequence[TrafficFile] = (),
) -> list[Chart]:
    """Returns the charts that have data, in the order of the page."""
    made = [
        _speed_up(drafts), _acceptance(drafts), _along_texts(drafts), _costs(drafts),
        _predicted(validations), _traffic(traffic),
    ]  # fmt: skip
    return [chart for chart in made if chart.series]


def _beside_iid(
    draft: Named, colour: int, points: Sequence[ChartPoint], iid: Sequence[float]
) -> list[Series]:
    """Returns a draft's points as a line, and values under i.i.d. acceptance as a dashed line."""
    dashed = (ChartPoint(point.x, value) for point, value in zip(points, iid, strict=True))
    return [
        Series(draft.name, colour, "line", tuple(points)),
        Series(f"{draft.name}, independent", colour, "dashed", tuple(dashed)),
    ]


def _speed_up(drafts: Sequence[Named]) -> Chart:
    series = []
    for colour, draft in enumerate(drafts):
        factors = draft.profile.improvement_factor
        replay = [ChartPoint(g, each.replay, each.low, each.high) for g, each in factors.items()]
        iid = [each.iid for each in factors.values()]
        series += _beside_iid(draft, colour, replay, iid) if factors else []
    return Chart(
        "speed-up",
        "Speed-up by γ",
        "Replay of the recorded texts at measured costs, "
        f"{percent(*(draft.level for draft in drafts))} intervals over prompts; dashed: what "
        "independent acceptances of the same α would give.",
        "γ (K), drafted tokens",
        "times the baseline",
        tuple(series),
    )


def _acceptance(drafts: Sequence[Named]) -> Chart:
    series = []
    for colour, draft in enumerate(drafts):
        added, powers = added_by_position(draft.profile)
        points = [ChartPoint(k, value) for k, value in enumerate(added, start=1)]
        series += _beside_iid(draft, colour, points, powers)
    return Chart(
        "acceptance",
        "Acceptance by position",
        "Tokens that the first, second, … drafted token adds to a target call, over blocks of the "
        "longest timed draft; dashed: α to that power, as if acceptances were independent.",
        "position in the draft",
        "tokens added per call",
        tuple(series),
    )


def _along_texts(drafts: Sequence[Named]) -> Chart:
    series = [
        Series(
            draft.name, colour, "line", tuple(ChartPoint(each.first, each.alpha) for each in bins)
        )
        for colour, draft in enumerate(drafts)
        if draft.profile.details is not None
        and len(bins := draft.profile.details.alpha_by_position_in_text) > 1
    ]
    return Chart(
        "along-texts",
        "Acceptance along the texts",
        "α over stretches of the texts, by the tokens before each: flat where α is one number.",
        "tokens after the prompt",
        "α",
        tuple(series),
    )


def _costs(drafts: Sequence[Named]) -> Chart:
    series = []
    for colour, draft in enumerate(drafts):
        times = draft.profile.times
        if times is None:
            continue
        points = tuple(ChartPoint(n, ms) for n, ms in sorted(times.target_ms.items()))
        series.append(Series(f"verify, {draft.name}", colour, "line", points))
        if times.drafting_ms:
            points = tuple(ChartPoint(gamma, ms) for gamma, ms in sorted(times.drafting_ms.items()))
            series.append(Series(f"draft, {draft.name}", colour, "dashed", points))
    return Chart(
        "costs",
        "Cost of a block",
        "A target pass over so many tokens, and (dashed) drafting so many. Were verifying free, "
        "the first would be flat.",
        "tokens",
        "milliseconds",
        tuple(series),
    )


def _predicted(validations: Sequence[Validated]) -> Chart:
    dots: dict[str, list[ChartPoint]] = defaultdict(list)
    for results in validations:
        for row in results.rows:
            if row.predicted is not None:
                point = ChartPoint(row.predicted, row.measured, row.measured_low, row.measured_high)
                dots[f"{short_name(row.draft)}, temperature {row.temperature:g}"].append(point)
    series = [
        Series(name, colour, "dots", tuple(points))
        for colour, (name, points) in enumerate(dots.items())
    ]
    return Chart(
        "predicted",
        "Predicted against measured",
        "Speed-ups of the validations: on the line the prediction is right. Bars: "
        f"{percent(*(results.confidence for results in validations))} of the measurement.",
        "predicted speed-up",
        "measured",
        tuple(series),
        diagonal=True,
    )


def _traffic(files: Sequence[TrafficFile]) -> Chart:
    series = []
    for colour, (file, with_drafts) in enumerate(product(files, (True, False))):
        points = tuple(
            ChartPoint(row.rate, row.tpot_ms, row.tpot_ms_low, row.tpot_ms_high)
            for row in file.rows
            if row.speculation == with_drafts and row.tpot_ms is not None
        )
        name = "with speculation" if with_drafts else "without"
        name += f", {file.name}" if len(files) > 1 else ""
        series += [Series(name, colour, "line", points)] if points else []
    return Chart(
        "traffic",
        "Time per token under traffic",
        "Predicted where requests arrive at random, at the rates that the server sustains; "
        f"{percent()} intervals.",
        "requests a second",
        "milliseconds a token",
        tuple(series),
    )
