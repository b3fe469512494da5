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
    made = [
        Chart(
            "speed-up",
            "Speed-up by γ",
            "Replay of the recorded texts at measured costs, "
            f"{percent(*(draft.level for draft in drafts))} intervals over prompts; dashed: what "
            "independent acceptances of the same α would give.",
            "γ (K), drafted tokens",
            "times the baseline",
            _speed_ups(drafts),
        ),
        Chart(
            "acceptance",
            "Acceptance by position",
            "Tokens that the first, second, … drafted token adds to a target call, over blocks of "
            "the longest timed draft; dashed: α to that power, as if acceptances were independent.",
            "position in the draft",
            "tokens added per call",
            _acceptances(drafts),
        ),
        Chart(
            "along-texts",
            "Acceptance along the texts",
            "α over stretches of the texts, by the tokens before each: flat where α is one number.",
            "tokens after the prompt",
            "α",
            _along_texts(drafts),
        ),
        Chart(
            "costs",
            "Cost of a block",
            "A target pass over so many tokens, and (dashed) drafting so many. Were verifying "
            "free, the first would be flat.",
            "tokens",
            "milliseconds",
            _costs(drafts),
        ),
        Chart(
            "predicted",
            "Predicted against measured",
            "Speed-ups of the validations: on the line the prediction is right. Bars: "
            f"{percent(*(results.confidence for results in validations))} of the measurement.",
            "predicted speed-up",
            "measured",
            _predicted(validations),
            diagonal=True,
        ),
        Chart(
            "traffic",
            "Time per token under traffic",
            "Predicted where requests arrive at random, at the rates that the server sustains; "
            f"{percent()} intervals.",
            "requests a second",
            "milliseconds a token",
            _traffic(traffic),
        ),
    ]
    return [chart for chart in made if chart.series]


def _series(
    name: str, colour: int, points: Iterable[tuple[Any, ...]], mark: Mark = "line"
) -> list[Series]:
    """Returns the series of points (x, y) or (x, y, low, high); [] without points."""
    made = tuple(ChartPoint(*point) for point in points)
    return [Series(name, colour, mark, made)] if made else []


def _speed_ups(drafts: Sequence[Named]) -> list[Series]:
    found = []
    for colour, draft in enumerate(drafts):
        factors = draft.profile.improvement_factor.items()
        replay = [(gamma, each.replay, each.low, each.high) for gamma, each in factors]
        iid = [(gamma, each.iid) for gamma, each in factors]
        found += _series(draft.name, colour, replay)
        found += _series(f"{draft.name}, independent", colour, iid, "dashed")
    return found


def _acceptances(drafts: Sequence[Named]) -> list[Series]:
    found = []
    for colour, draft in enumerate(drafts):
        added, powers = added_by_position(draft.profile)
        found += _series(draft.name, colour, enumerate(added, 1))
        found += _series(f"{draft.name}, independent", colour, enumerate(powers, 1), "dashed")
    return found


def _along_texts(drafts: Sequence[Named]) -> list[Series]:
    found = []
    for colour, draft in enumerate(drafts):
        details = draft.profile.details
        bins = () if details is None else details.alpha_by_position_in_text
        if len(bins) > 1:
            found += _series(draft.name, colour, [(each.first, each.alpha) for each in bins])
    return found


def _costs(drafts: Sequence[Named]) -> list[Series]:
    found = []
    for colour, draft in enumerate(drafts):
        if (times := draft.profile.times) is not None:
            drafting = sorted(times.drafting_ms.items())
            found += _series(f"verify, {draft.name}", colour, sorted(times.target_ms.items()))
            found += _series(f"draft, {draft.name}", colour, drafting, "dashed")
    return found


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
