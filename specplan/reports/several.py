"""The advice of several plans in one sentence, by batch, context, GPU, acceptance or c."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simulator.choice.curve import baseline_seconds
from simulator.choice.odds import percentage
from simulator.choice.plan import Plan
from simulator.numerics.intervals import percent
from specplan.reports import lengths
from specplan.reports.advice import advice_lines
from specplan.reports.kept import confirm_lines
from specplan.reports.lengths import GAIN, Json, fits, ranges_of, shown_point
from specplan.reports.next_run import (
    NOT_CALIBRATED,
    deciding,
    next_lines,
    next_runs,
    runs_named,
    runs_text,
    wide_lines,
)  # fmt: skip

# Settings in which the rows of a plan may differ, by key in JSON.
SETTINGS = {
    "gpu": "GPU", "tp": "GPUs", "batch": "batch", "context": "context", "alpha": "α", "c": "c",
}  # fmt: skip
# Follows from the other settings where verification has a cost.
_DERIVED = ("c",)
# Follows from the context where each context has one value.
_BY_CONTEXT = ("alpha",)
_NO_FIT = "The models do not fit into memory: no K is advised."


def settings_of(rows: Sequence[Json]) -> list[str]:
    """Returns the settings in which rows differ, as keys of `SETTINGS`."""
    settings = [name for name in SETTINGS if len({point.get(name) for point in rows}) > 1]
    if len(settings) > 1 and not rows[0]["verification_free"]:
        settings = [name for name in settings if name not in _DERIVED]
    alphas = {(point.get("context"), point.get("alpha")) for point in rows}
    if "context" in settings and len(alphas) == len({context for context, _ in alphas}):
        settings = [name for name in settings if name not in _BY_CONTEXT]
    return settings


def several_json(plans: Sequence[Plan], data: Json) -> dict[str, Any]:
    """Returns `sentence`, the advice, and `sure`, how sure it is; data: JSON of the plans."""
    rows, settings = data["rows"], settings_of(data["rows"])
    able = [at for at, point in enumerate(rows) if fits(point)]
    if not able:
        return {"sentence": _NO_FIT, "sure": []}
    best = headline_row(rows, settings)
    first = sorted(able, key=lambda at: at != best)
    places = [
        f" at {', '.join(f'{SETTINGS[name]} {rows[at][name]}' for name in settings)}"
        for at in first
    ]
    sure = wide_lines([plans[at] for at in first], places)
    sure += [NOT_CALIBRATED] * any(plans[at].advice.undecided for at in able)
    if len(able) < len(rows):
        sure.append(f"{len(rows) - len(able)} of {len(rows)} settings do not fit into memory.")
    if parts := ranges_of(data, settings):
        odds = lengths.odds_sentence(rows, parts, settings[0])
        decides = deciding([plans[at] for at in able])
        runs = "" if decides is None else runs_text(next_runs(decides), *decides.place)
        following = [] if decides is None else [*confirm_lines(decides), *next_lines(decides)]
        return {"sentence": lengths.lengths_sentence(rows, parts, settings[0], runs),
                "sure": [*filter(None, [odds]), *sure, *following]}  # fmt: skip
    if _by_speed(rows, settings):
        order = sorted(able, key=lambda at: _advised_speed(rows[at]), reverse=True)
        gpus = _by_gpu([rows[at] for at in order])
        doubt = _between_gpus([plans[at] for at in order])
        alone = f"this command with --gpu {rows[best]['gpu']} only"
        following = next_lines(plans[best], to=alone)
        return {"sentence": gpus[0], "sure": [*gpus[1:], *doubt, *sure, *following]}
    gains = bool(rows[best]["advised_gamma"] or rows[best]["test_gamma"])
    opening = f"The largest {'gain' if gains else 'speed-up'} is{places[0]}."
    return {"sentence": f"{opening} {advice_lines(plans[best])[0]}", "sure": sure}


def headline_row(rows: Sequence[Json], settings: Sequence[str]) -> int:
    """Returns the index of the row that the sentence begins with; one row or more must fit."""
    able = [at for at, point in enumerate(rows) if fits(point)]
    if settings in (["batch"], ["context"]):
        return able[0]
    if _by_speed(rows, settings):
        return max(able, key=lambda at: _advised_speed(rows[at]))
    return max(able, key=lambda at: float(shown_point(rows[at])[GAIN]))


def _by_speed(rows: Sequence[Json], settings: Sequence[str]) -> bool:
    """Returns whether rows are GPUs that are ranked by tokens per second."""
    timed = all(point["tokens_per_second"] is not None for point in rows if fits(point))
    return timed and settings == ["gpu"]


def _by_gpu(rows: Sequence[Json]) -> list[str]:
    """Returns which GPU is the fastest as advised, and a sentence for each of the others.

    rows: one for each GPU, the fastest first.
    """
    best, *others = rows
    first = runs_named(sorted(best["first_runs"]))
    run = f" Run {first} on it first." * bool(first)
    known = "is" if best["gain_probability"] is None else "is expected to be"
    return [f"{best['gpu']} {known} the fastest at batch {best['batch']}: {_gpu_text(best)}.{run}",
            *(f"{point['gpu']}: {_gpu_text(point)}." for point in others)]  # fmt: skip


def _between_gpus(plans: Sequence[Plan]) -> list[str]:
    """Returns the intervals of the GPUs' speeds without speculation; [] if they are exact."""
    if any(plan.cost.posterior is None for plan in plans) or len(plans) < 2:
        return []
    ends = [plan.setting.batch / np.ravel(baseline_seconds(plan.cost).interval()) for plan in plans]
    gpus = [plan.setting.load.gpu for plan in plans if plan.setting.load]
    texts = ", ".join(f"{gpu} {end[2]:,.0f} to {end[0]:,.0f}"
                      for gpu, end in zip(gpus, ends, strict=True))  # fmt: skip
    apart = "lie apart" if ends[0][2] > ends[1][0] else "overlap, so either may be the fastest"
    return [
        f"No odds between GPUs are computed. Tokens/s without speculation ({percent()}): {texts}. "
        f"The ranges of the first two {apart}."
    ]


def _gpu_text(point: Json) -> str:
    """Returns the speed of a GPU as advised, and the draft length with its speed-up and odds."""
    drafting, chance = shown_point(point), point["gain_probability"]
    low, high = (drafting.get(f"{GAIN}_{end}") for end in ("low", "high"))
    ends = "" if low is None else f" ({percent()}: {low:.2f} to {high:.2f})"
    gain = f"{drafting[GAIN]:.2f} times{ends}"
    odds = "" if chance is None else f", odds of a gain {percentage(chance)}"
    gamma, speed = drafting["gamma"], f"{_advised_speed(point):,.0f} tokens/s"
    if point["first_runs"]:
        faster = f"{drafting['tokens_per_second']:,.0f} tokens/s"
        return f"{speed} without speculation; K = {gamma} may give {faster}, {gain}{odds}"
    if point["advised_gamma"]:
        return f"{speed} with K = {gamma}, {gain} the speed without speculation{odds}"
    best = f"; the best, K = {gamma}, gives {gain}{odds}" if gamma else ""
    return f"{speed} without speculation{best}"


def _advised_speed(point: Json) -> float:
    """Returns tokens per second as advised today, all sequences."""
    drafts = point["advised_gamma"] and not point["first_runs"]
    speed: float = (shown_point(point)["tokens_per_second"] if drafts
                    else point["baseline_tokens_per_second"])  # fmt: skip
    return speed
