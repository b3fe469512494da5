"""Plans that end drafts at a threshold, or verification after some of the drafted tokens."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from estimator.profiles.adaptive import WaySpeed, adaptive_speeds
from estimator.profiles.p_min import StopGain, Thresholds
from simulator.acceptance.stopping.ranking import BUDGETS, RankedTexts
from simulator.choice.plan import Plan
from simulator.numerics.intervals import deviations, percent
from specplan.reports.plan import notes_of
from specplan.reports.plans import plan_json
from specplan.reports.table import GAMMA, Column, folded, table

_LEGEND = (
    "Speed-up over no speculation (K drafted, tokens verified for each sequence). One K, K by "
    "batch: all drafted tokens are verified. Walk, previous step: the tokens likeliest to be "
    "reached are verified, to the first that does not pay, or as many as would have paid in the "
    "previous step. Oracle: tokens that will be accepted."
)


# Rules that verify all drafted tokens, with which ranking is compared.
_OTHERS = ("one K", "K by batch")


class StoppedPlans:
    """Plans for drafts that end below a confidence threshold, one plan for each threshold.

    exported: plan and threshold to run on a server: the best pair if it gains on held-out texts and
      the whole interval of its gain is above 0; else the plan with a fixed length, and threshold 0.
    """

    def __init__(self, rows: Sequence[Plan], thresholds: Thresholds, fixed: Plan) -> None:
        """Chooses the best of `rows`, one plan per threshold; fixed: plan without threshold."""
        self._rows, self._thresholds = rows, thresholds
        gain = thresholds.gain(rows[0].cost, max_gamma=len(rows[0].curve.gamma))
        best = thresholds.p_mins.index(gain.p_min)
        self._gain, self._best = gain, rows[best]
        self._drafted_error = thresholds.acceptances[best].drafted_error
        gained = (gain.low or 0) > 1 and (gain.held_out or 0) > 1
        self.exported = (self._best, gain.p_min) if gained else (fixed, 0.0)

    @property
    def lost(self) -> str:
        """Comment that flags omit the best threshold, whose gain is unproven; else ""."""
        gain = self._gain
        if gain.p_min == self.exported[1]:
            return ""
        best = f"p_min {gain.p_min:g} and K = {gain.gamma}"
        return f"# p_min 0: with {best} no gain is proven:\n# {_gained(gain)}\n"

    def json(self) -> dict[str, Any]:
        """Returns the best plan as JSON; its curve has a point for each length and threshold."""
        thresholds = self._thresholds
        return {
            **plan_json(self._best),
            # It counts a draft step per verified token, but a dropped token costs a step, too.
            "break_even_c": None,
            "advised_gamma": self.exported[0].advised_gamma,
            "test_gamma": self.exported[0].advice.test_gamma,
            "sentence": self._advice("p_min"),
            "p_min": self._gain.p_min,
            "advised_p_min": self.exported[1],
            "p_min_gain": self._gain._asdict(),
            "stopping_rule": thresholds.rule._asdict(),
            "calibration": thresholds.reliability,
            "drafted_error": self._drafted_error,
            "curve": [
                {"p_min": p_min, **point}
                for p_min, row in zip(thresholds.p_mins, self._rows, strict=True)
                for point in plan_json(row)["curve"]
            ],
        }

    def text(self) -> str:
        thresholds, rule = self._thresholds, self._thresholds.rule
        sampling = self._best.acceptance.source.draft_sampling
        matches = rule.confidence == "matched tokens"
        name = "least match" if matches else "p_min"
        rows = []
        for p_min, row, acceptance in zip(
            thresholds.p_mins, self._rows, thresholds.acceptances, strict=True
        ):
            gamma = max(row.optimal_gamma, 1)
            point = plan_json(row)["curve"][gamma - 1]
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
        opening = (
            f"{rule.name}, {rule.builds}, {sampling} drafts: a draft ends where its "
            f"{what} ({rule.confidence}) falls below p_min; the token that fails {fails}."
        )
        if matches:
            opening = (
                "Lookups on recorded texts: nothing is drafted where fewer tokens match than the "
                "least match; 0 is the lookup's own."
            )
        lines = [
            opening,
            *notes_of(self._best),
            "",
            table(rows, columns, best=lambda cells: cells["of"] is self._best),
            "",
            self._advice(name),
        ]
        if thresholds.reliability:
            shares: list[Column[Mapping[str, float]]] = [
                ("draft states", "{said:.2f}"),
                ("is right", "{right:.2f}"),
                ("calibrated", "{calibrated:.2f}"),
                ("tokens", "{tokens:.0f}"),
            ]
            lines += ["", "Each half of the texts is calibrated by the other half:", ""]
            lines.append(table(thresholds.reliability, shares))
        if self._drafted_error > 0:
            lines.append(
                "Drafted tokens are an estimate, as drafts were recorded at some block starts or "
                f"are drawn: standard error {self._drafted_error:.2g} for each emitted token. "
                "Calls are exact."
            )
        return folded("\n".join(lines))

    def _advice(self, name: str) -> str:
        gain, (exported, p_min) = self._gain, self.exported
        if self._best.optimal_gamma == 0:
            return "Do not speculate: no draft length and threshold gains."
        text = f"Best: gamma {gain.gamma} with {name} {gain.p_min:g}, {_gained(gain)}."
        keep = f" So keep gamma {exported.advice.named} without a threshold ({name} 0)."
        return text + keep * (gain.p_min != p_min)


def _gained(gain: StopGain) -> str:
    """Returns text with a threshold's gain, its interval, and its gain on held-out texts."""
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
        self._speeds = adaptive_speeds(rows, texts)
        pairs = (("rank", "one K"), ("rank", "K by batch"), ("oracle", "K by batch"))
        logs = [_log_gain(self._speeds.values(), *pair) for pair in pairs]
        self._gains = dict(zip(map(" over ".join, pairs), np.exp(logs).tolist(), strict=True))

    def json(self) -> dict[str, Any]:
        """Returns a JSON object: `rows` by batch size, and the geometric mean of each gain.

        oracle_gain_reached: log(gain by ranking) / log(gain of an oracle, which knows the tokens
          that are accepted); null if the oracle gains nothing.
        """
        rows = []
        for batch, ways in self._speeds.items():
            whole, by_rank = (_log_gain([ways], one, "K by batch") for one in ("oracle", "rank"))
            shown = {_key(way): speed._asdict() for way, speed in ways.items()}
            reached = by_rank / whole if whole > 0 else None
            gains = {f"gain_over_{_key(other)}": _gain_over(ways, other) for other in _OTHERS}
            rows.append({"batch": batch, **shown, "oracle_gain_reached": reached, **gains})
        means = {_key(name): gain for name, gain in self._gains.items()}
        pays = {_key(other): self._pays_from(other) for other in _OTHERS}
        return {"verification": "adaptive", "rows": rows, **means, "pays_from": pays}

    def _pays_from(self, other: str) -> int | None:
        """Returns the smallest batch from which on ranking surely gains over a rule; None: none."""
        batches = list(self._speeds)
        for batch in reversed(self._speeds):
            if _gain_over(self._speeds[batch], other)[1] <= 1:
                batches = [larger for larger in batches if larger > batch]
                break
        return min(batches, default=None)

    def _when(self, other: str) -> str:
        """Returns a sentence on the batch sizes at which ranking gains over a rule, or loses."""
        gains = {batch: _gain_over(ways, other) for batch, ways in self._speeds.items()}
        start = self._pays_from(other)
        when = "at none of these batch sizes" if start is None else f"from batch {start} on"
        places = dict.fromkeys(choose(gains, key=gains.__getitem__) for choose in (max, min))
        ends = (
            f"{_percent(gains[batch][0])} ({_percent(gains[batch][1])} to "
            f"{_percent(gains[batch][2])}) at batch {batch}"
            for batch in places
        )
        return f"Over {other} it pays {when}: {' and '.join(ends)}."

    def text(self) -> str:
        rows = [{"batch": batch, **ways} for batch, ways in self._speeds.items()]
        speed = "{{{0}.speed_up:.2f}} ({{{0}.gamma}}, {{{0}.verified:.1f}})"
        columns: list[Column[dict[str, Any]]] = [("batch", "{batch}")]
        columns += [(way, speed.format(way)) for way in next(iter(self._speeds.values()))]
        one, by_rank, oracle = map(_percent, self._gains.values())
        summary = (
            f"Verification by rank: {one} over one K for all these batch sizes, {by_rank} over the "
            f"best K of each; the oracle: {oracle} (geometric means)."
        )
        when = [self._when(other) for other in _OTHERS]
        if any(self._pays_from(other) is not None for other in _OTHERS):
            when.append('Its switch on vLLM: "enable_adaptive_verification": true.')
        return folded("\n".join([_LEGEND, "", table(rows, columns), "", summary, *when]))


def _log_gain(speeds: Iterable[Mapping[str, WaySpeed]], one: str, other: str) -> float:
    """Returns the mean over batch sizes of log(speed under rule `one` / speed under `other`).

    speeds: for each batch size, the speeds by rule. "rank" means the faster of the two rules that
      verify the likeliest tokens (BUDGETS).
    """
    names = BUDGETS if one == "rank" else (one,)
    best = ((max(ways[name].speed_up for name in names), ways[other]) for ways in speeds)
    return float(np.mean([np.log(fast / slow.speed_up) for fast, slow in best]))


def _gain_over(ways: Mapping[str, WaySpeed], other: str) -> tuple[float, float, float]:
    """Returns the speed of the better ranking rule / the speed of another, and its interval."""
    best, slow = max((ways[name] for name in BUDGETS), key=lambda way: way.speed_up), ways[other]
    ratio = best.speed_up / slow.speed_up
    reach = deviations() * float(np.hypot(best.error, slow.error))
    return ratio, ratio * np.exp(-reach), ratio * np.exp(reach)


def _key(name: str) -> str:
    return name.lower().replace(" ", "_")
