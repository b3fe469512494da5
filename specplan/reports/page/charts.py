"""The page's charts as data: series of points, which its script draws and its tables list."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from estimator.profiles.best import added_by_position
from estimator.validation.file import Validated
from figures.drawing import short_name
from simulator.numerics.intervals import percent
from specplan.reports.page.inputs import Named, TrafficFile

Mark = Literal["line", "dashed", "dots"]


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """One value with its interval; low and high are None if there is none."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one colour, joined by a solid or dashed line, or shown as single dots.

    colour: index from 0; all series of one draft have one colour.
    """

    name: str
    colour: int
    mark: Mark
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
    series: Sequence[Series]
    diagonal: bool = False


def charts(
    drafts: Sequence[Named], validations: Sequence[Validated], traffic: Sequence[TrafficFile]
) -> list[Chart]:
    """Returns the charts that have data, in the order of the page."""
    found = defaultdict(list, predicted=_predicted(validations), traffic=_traffic(traffic))
    for colour, draft in enumerate(drafts):
        for key, series in _of_draft(draft, colour).items():
            found[key] += series
    made = [
        Chart(
            "speed-up",
            "Speed-up by γ",
            "Replay of the recorded texts at measured costs, "
            f"{percent(*(draft.level for draft in drafts))} intervals over prompts; dashed: what "
            "independent acceptances of the same α would give.",
            "γ (K), drafted tokens",
            "times the baseline",
            found["speed-up"],
        ),
        Chart(
            "acceptance",
            "Acceptance by position",
            "Tokens that the first, second, … drafted token adds to a target call, over blocks of "
            "the longest timed draft; dashed: α to that power, as if acceptances were independent.",
            "position in the draft",
            "tokens added per call",
            found["acceptance"],
        ),
        Chart(
            "along-texts",
            "Acceptance along the texts",
            "α over stretches of the texts, by the tokens before each: flat where α is one number.",
            "tokens after the prompt",
            "α",
            found["along-texts"],
        ),
        Chart(
            "costs",
            "Cost of a block",
            "A target pass over so many tokens, and (dashed) drafting so many. Were verifying "
            "free, the first would be flat.",
            "tokens",
            "milliseconds",
            found["costs"],
        ),
        Chart(
            "predicted",
            "Predicted against measured",
            "Speed-ups of the validations: on the line the prediction is right. Bars: "
            f"{percent(*(results.confidence for results in validations))} of the measurement.",
            "predicted speed-up",
            "measured",
            found["predicted"],
            diagonal=True,
        ),
        Chart(
            "traffic",
            "Time per token under traffic",
            "Predicted where requests arrive at random, at the rates that the server sustains; "
            f"{percent()} intervals.",
            "requests a second",
            "milliseconds a token",
            found["traffic"],
        ),
    ]
    return [chart for chart in made if chart.series]


def _series(
    name: str, colour: int, points: Iterable[tuple[Any, ...]], mark: Mark = "line"
) -> list[Series]:
    """Returns the series of points (x, y) or (x, y, low, high); [] without points."""
    made = tuple(ChartPoint(*point) for point in points)
    return [Series(name, colour, mark, made)] if made else []


def _of_draft(draft: Named, colour: int) -> dict[str, list[Series]]:
    """Returns one draft's series for each chart, by the chart's key; [] where data is missing."""
    name, independent, times = draft.name, f"{draft.name}, independent", draft.profile.times
    factors, details = draft.profile.improvement_factor.items(), draft.profile.details
    replay = [(gamma, each.replay, each.low, each.high) for gamma, each in factors]
    iid = [(gamma, each.iid) for gamma, each in factors]
    added, powers = added_by_position(draft.profile)
    bins = () if details is None else details.alpha_by_position_in_text
    along = [(each.first, each.alpha) for each in bins]
    target, drafting = ({}, {}) if times is None else (times.target_ms, times.drafting_ms)
    return {
        "speed-up": [
            *_series(name, colour, replay),
            *_series(independent, colour, iid, "dashed"),
        ],
        "acceptance": [
            *_series(name, colour, enumerate(added, 1)),
            *_series(independent, colour, enumerate(powers, 1), "dashed"),
        ],
        "along-texts": _series(name, colour, along) if len(along) > 1 else [],
        "costs": [
            *_series(f"verify, {name}", colour, sorted(target.items())),
            *_series(f"draft, {name}", colour, sorted(drafting.items()), "dashed"),
        ],
    }


def _predicted(validations: Sequence[Validated]) -> list[Series]:
    dots = defaultdict(list)
    for row in (row for results in validations for row in results.rows):
        if row.predicted is not None:
            point = (row.predicted, row.measured, row.measured_low, row.measured_high)
            dots[f"{short_name(row.draft)}, temperature {row.temperature:g}"].append(point)
    every = (_series(name, at, dots[name], "dots") for at, name in enumerate(dots))
    return [series for each in every for series in each]


def _traffic(files: Sequence[TrafficFile]) -> list[Series]:
    found = []
    for colour, (file, with_drafts) in enumerate(product(files, (True, False))):
        points = (
            (row.rate, row.tpot_ms, row.tpot_ms_low, row.tpot_ms_high)
            for row in file.rows
            if row.speculation == with_drafts and row.tpot_ms is not None
        )
        name = "with speculation" if with_drafts else "without"
        found += _series(name + f", {file.name}" * (len(files) > 1), colour, points)
    return found
