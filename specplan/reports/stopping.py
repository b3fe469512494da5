"""Plans that end drafts at a threshold, or verification after some of the drafted tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.numerics.intervals import percent
from specplan.reports.plan import Origin
from specplan.reports.plan_json import plan_json
from specplan.reports.table import GAMMA, Column, folded, table

if TYPE_CHECKING:
    from estimator.profiles.adaptive import WaySpeed
    from estimator.profiles.p_min import StopGain, Thresholds
    from simulator.acceptance.stopping.ranking import RankedTexts
    from simulator.choice.plan import Plan

_LEGEND = (
    "Speed-up over no speculation (K drafted, tokens verified for each sequence). One K, K by "
    "batch: all drafted tokens are verified. Walk, previous step: the tokens likeliest to be "
    "reached are verified, to the first that does not pay, or as many as would have paid in the "
    "previous step. Oracle: tokens that will be accepted."
)


class StoppedPlans:
    """Plans for drafts that end below a confidence threshold, one plan for each threshold.

    best: the plan at the best threshold.
    exported: plan and threshold to run on a server: the best if it gains on held-out texts and the
      interval of its gain lies above 0; else the plan with drafts of a fixed length, and 0.
    gain: the best draft length and threshold, and their gain over the best fixed length.
    """

    def __init__(self, rows: Sequence[Plan], thresholds: Thresholds, fixed: Plan) -> None:
        """Chooses the best of `rows`, a plan per threshold; fixed: the plan of a fixed length."""
        self._rows, self._thresholds = rows, thresholds
        longest = len(rows[0].curve.gamma)
        self.gain = thresholds.gain(rows[0].price.cost, max_gamma=longest)
        self._best = thresholds.p_mins.index(self.gain.p_min)
        self.best = rows[self._best]
        low, held_out = self.gain.low, self.gain.held_out
        gained = low is not None and low > 1 and held_out is not None and held_out > 1
        self.exported = (self.best, self.gain.p_min) if gained else (fixed, 0.0)

    @property
    def lost(self) -> str:
        """A comment that states why flags omit the best threshold; "" if they contain it."""
        gain = self.gain
        if gain.p_min == self.exported[1]:
            return ""
        best = f"p_min {gain.p_min:g} and K = {gain.gamma}"
        return f"# p_min 0: with {best} no gain is proven:\n# {_gained(gain)}\n"

    def json(self, origin: Origin) -> dict[str, Any]:
        """Returns the best plan as JSON; its curve has a point for each length and threshold."""
        found = self._thresholds
        return {
            **plan_json(self.best, origin),
            # It counts a draft step per verified token, but a dropped token costs a step, too.
            "break_even_c": None,
            "advised_gamma": self.exported[0].advised_gamma,
            "test_gamma": self.exported[0].advice.test_gamma,
            "p_min": self.gain.p_min,
            "advised_p_min": self.exported[1],
            "p_min_gain": self.gain._asdict(),
            "stopping_rule": found.rule._asdict(),
            "calibration": found.reliability,
            "drafted_error": found.acceptances[self._best].drafted_error,
            "curve": [
                {"p_min": p_min, **point}
                for p_min, row in zip(found.p_mins, self._rows, strict=True)
                for point in plan_json(row, origin)["curve"]
            ],
        }

    def text(self, origin: Origin) -> str:
        """Returns the plans as text: the speed at each threshold, and the advice."""
        found, rule = self._thresholds, self._thresholds.rule
        matches = rule.confidence == "matched tokens"
        name = "least match" if matches else "p_min"
        rows = []
        for p_min, row, acceptance in zip(found.p_mins, self._rows, found.acceptances, strict=True):
            gamma = max(row.optimal_gamma, 1)
            point = plan_json(row, origin)["curve"][gamma - 1]
            drafted = float(acceptance.drafted_per_token(gamma)) * point["expected_tokens"]
            rows.append({**point, "p_min": p_min, "drafted": drafted, "of": row})
        columns: list[Column[dict[str, Any]]] = [
            (name, "{p_min:g}"),
            (GAMMA, "{gamma}"),
            ("tokens/call", "{expected_tokens:.2f}"),
            ("drafted/call", "{drafted:.2f}"),
            ("speed-up", "{improvement_factor:.2f}"),
        ]
        what = "product of its probabilities" if rule.product else "probability"
        fails = "is verified" if rule.keeps else "is dropped after its draft step"
        lines = [
            "Lookups on recorded texts: nothing is drafted where fewer tokens match than the least "
            "match; 0 is the lookup's own."
            if matches
            else f"{rule.name}, {rule.builds}, {origin.draft_sampling} drafts: a draft ends where "
            f"its {what} ({rule.confidence}) falls below p_min; the token that fails {fails}.",
            *origin.notes,
            "",
            table(rows, columns, best=lambda each: each["of"] is self.best),
            "",
            _advice(self.best, self.gain, *self.exported, name=name),
        ]
        if found.reliability:
            shares: list[Column[Mapping[str, float]]] = [
                ("draft states", "{said:.2f}"),
                ("is right", "{right:.2f}"),
                ("calibrated", "{calibrated:.2f}"),
                ("tokens", "{tokens:.0f}"),
            ]
            lines += ["", "Each half of the texts is calibrated by the other half:", ""]
            lines.append(table(found.reliability, shares))
        error = found.acceptances[self._best].drafted_error
        if error > 0:
            lines.append(
                "Drafted tokens are an estimate, as drafts were recorded at some block starts or "
                f"are drawn: standard error {error:.2g} for each emitted token. Calls are exact."
            )
        return folded("\n".join(lines))


def _advice(row: Plan, gain: StopGain, exported: Plan, p_min: float, *, name: str) -> str:
    if row.optimal_gamma == 0:
        return "Do not speculate: no draft length and threshold gains."
    text = f"Best: gamma {gain.gamma} with {name} {gain.p_min:g}, {_gained(gain)}."
    if gain.p_min == p_min:
        return text
    return f"{text} So keep gamma {exported.advice.named} without a threshold ({name} 0)."


def _gained(gain: StopGain) -> str:
    """Returns as text a threshold's gain with its interval, and its gain on held-out texts."""
    interval, held_out = "", "; one text gives no interval"
    if gain.low is not None and gain.high is not None and gain.held_out is not None:
        interval = f" ({percent()} interval {_percent(gain.low)} to {_percent(gain.high)})"
        held_out = f"; {_percent(gain.held_out)} on texts that did not choose it"
    return (
        f"{_percent(gain.value)}{interval} over the best fixed gamma {gain.fixed_gamma}{held_out}"
    )


def _percent(factor: float) -> str:
    return f"{100 * (factor - 1):+.1f} %"


class AdaptivePlans:
    """The speed at each batch size under each rule that chooses which drafted tokens to verify."""

    def __init__(self, rows: Sequence[Plan], texts: RankedTexts) -> None:
        """Simulates decoding `texts` at each batch size; `rows` has one plan per batch size."""
        from estimator.profiles.adaptive import adaptive_speeds

        self._speeds = adaptive_speeds(rows, texts)
        pairs = (("rank", "one K"), ("rank", "K by batch"), ("oracle", "K by batch"))
        self._gains = {
            f"{one} over {other}": float(
                np.exp(np.mean([_log(ways, one, other) for ways in self._speeds.values()]))
            )
            for one, other in pairs
        }

    def json(self) -> dict[str, Any]:
        """Returns a JSON object: `rows` by batch size, and the geometric mean of each gain.

        oracle_gain_reached: gain of ranking over gain of an oracle that knows which tokens are
          accepted; null if the oracle gains nothing.
        """
        rows = []
        for batch, ways in self._speeds.items():
            whole, found = (_log(ways, one, "K by batch") for one in ("oracle", "rank"))
            shown = {_key(way): speed._asdict() for way, speed in ways.items()}
            reached = found / whole if whole > 0 else None
            rows.append({"batch": batch, **shown, "oracle_gain_reached": reached})
        gains = {_key(name): gain for name, gain in self._gains.items()}
        return {"verification": "adaptive", "rows": rows, **gains}

    def text(self) -> str:
        rows = [{"batch": batch, **ways} for batch, ways in self._speeds.items()]
        speed = "{{{0}.speed_up:.2f}} ({{{0}.gamma}}, {{{0}.verified:.1f}})"
        columns: list[Column[dict[str, Any]]] = [("batch", "{batch}")]
        columns += [(way, speed.format(way)) for way in next(iter(self._speeds.values()))]
        one, each, oracle = (_percent(gain) for gain in self._gains.values())
        summary = (
            f"Verification by rank: {one} over one K for all these batch sizes, {each} over the "
            f"best K of each; the oracle: {oracle} (geometric means)."
        )
        return folded("\n".join([_LEGEND, "", table(rows, columns), "", summary]))


def _log(ways: Mapping[str, WaySpeed], one: str, other: str) -> float:
    """Returns log(speed of `one` / speed of `other`); "rank" is the faster rule in BUDGETS."""
    from simulator.acceptance.stopping.ranking import BUDGETS

    best = max(ways[way].speed_up for way in (BUDGETS if one == "rank" else (one,)))
    return float(np.log(best / ways[other].speed_up))


def _key(name: str) -> str:
    return name.lower().replace(" ", "_")
