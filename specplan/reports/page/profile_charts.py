"""The charts of measured drafts: speed-up, acceptance and costs."""

from collections.abc import Sequence

from estimator.profiles.best import added_by_position
from simulator.numerics.intervals import percent
from specplan.reports.page.inputs import Named
from specplan.reports.page.pictures import Chart, Series, Threshold, series


def profile_charts(drafts: Sequence[Named]) -> list[Chart]:
    """Returns the charts that have data, the speed-up first."""
    by_chart: dict[str, list[Series]] = {}
    for colour, draft in enumerate(drafts):
        for key, parts in _of_draft(draft, colour).items():
            by_chart.setdefault(key, []).extend(parts)
    levels = percent(*(draft.level for draft in drafts))
    charts = [
        Chart("speed-up", "Speed-up by draft length",
              f"Replay of the recorded texts at measured costs, {levels} intervals over prompts; "
              "dashed: what independent acceptances of the same α would give.",
              "K", "times the speed without speculation", by_chart["speed-up"],
              levels=[Threshold(1.0, "without speculation")], marks=_marks(drafts)),
        Chart("acceptance", "Acceptance by position",
              "Tokens that the first, second, … drafted token adds to a target call, over blocks "
              "of the longest timed draft; dashed: α to that power, as if acceptances were "
              "independent. A block that drafts nothing, or fewer tokens, adds 0 there; α leaves "
              "it out.",
              "position in the draft", "tokens added per call", by_chart["acceptance"]),
        Chart("along-texts", "Acceptance along the texts",
              "α over stretches of the texts, by the tokens before each: flat where α is one "
              "number.", "tokens after the prompt", "α", by_chart["along-texts"]),
        Chart("costs", "Cost of a block",
              "A target pass over so many tokens, and (dashed) drafting so many, over a target "
              "pass over one token of the same measurement. If verification were free, the first "
              "would be flat. c is what each further drafted token adds to the dashed line; the "
              "first also starts the block.",
              "tokens", "target passes over one token", by_chart["costs"]),
    ]  # fmt: skip
    return [chart for chart in charts if chart.series]


def _marks(drafts: Sequence[Named]) -> list[tuple[str, float, float]]:
    best = drafts[0].best
    if best is None or best.gamma not in (factors := drafts[0].profile.improvement_factor):
        return []
    return [("best", best.gamma, factors[best.gamma].replay)]


def _of_draft(draft: Named, colour: int) -> dict[str, list[Series]]:
    """Returns one draft's series for each chart, by the chart's key; [] where data is missing."""
    name, independent, times = draft.name, f"{draft.name}, independent", draft.profile.times
    factors, details = draft.profile.improvement_factor.items(), draft.profile.details
    replay = [(gamma, factor.replay, factor.low, factor.high) for gamma, factor in factors]
    iid = [(gamma, factor.iid) for gamma, factor in factors]
    added, powers = added_by_position(draft.profile)
    bins = () if details is None else details.alpha_by_position_in_text
    along = [(part.first, part.alpha) for part in bins]
    target, drafting = ({}, {}) if times is None else (times.target_ms, times.drafting_ms)
    one = target.get(1, 1.0)
    return {
        "speed-up": [*series(name, colour, replay), *series(independent, colour, iid, "dashed")],
        "acceptance": [
            *series(name, colour, enumerate(added, 1)),
            *series(independent, colour, enumerate(powers, 1), "dashed"),
        ],
        "along-texts": series(name, colour, along) if len(along) > 1 else [],
        "costs": [
            *series(f"verify, {name}", colour, ((n, ms / one) for n, ms in sorted(target.items()))),
            *series(f"draft, {name}", colour,
                    ((n, ms / one) for n, ms in sorted(drafting.items())), "dashed"),
        ],
    }  # fmt: skip
