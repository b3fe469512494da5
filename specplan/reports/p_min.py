"""A plan over draft length and threshold: the speed at each threshold, and the gain of stopping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simulator.numerics.intervals import percent
from specplan.reports.output import folded
from specplan.reports.plan_json import plan_json
from specplan.reports.table import GAMMA, Column, shown, table

if TYPE_CHECKING:
    from estimator.profiles.p_min import StopGain, Thresholds
    from simulator.acceptance.stopping.stopped_text import Stopped
    from simulator.choice.plan import Plan
    from specplan.reports.basis import Basis


class StoppedPlans:
    """The plans at all thresholds.

    best: the plan at the best threshold.
    exported: the plan and the threshold for a server: the best, if it gains on texts that did not
      choose it and the interval of its gain lies above 0; else the fixed length and 0.
    gain: the best draft length and threshold, and their gain over the best fixed length.
    """

    def __init__(self, rows: Sequence[Plan], thresholds: Thresholds, fixed: Plan) -> None:
        """Stores a plan for each threshold, all at one cost, and the plan of a fixed length."""
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
        """A comment for a server's flags that lack the best threshold; empty if they have it."""
        gain = self.gain
        if gain.p_min == self.exported[1]:
            return ""
        best = f"p_min {gain.p_min:g} and K = {gain.gamma}"
        return f"# p_min 0: with {best} no gain is proven:\n# {_gained(gain)}\n"

    def json(self, basis: Basis) -> dict[str, Any]:
        """Returns the JSON object of the best plan; its curve has all lengths and thresholds."""
        rule = self._thresholds.rule._asdict()
        return {
            **plan_json(self.best, basis),
            # That step prices verified tokens; a dropped token's step is paid without one.
            "break_even_c": None,
            "advised_gamma": self.exported[0].advised_gamma,
            "test_gamma": self.exported[0].advice.test_gamma,
            "p_min": self.gain.p_min,
            "advised_p_min": self.exported[1],
            "p_min_gain": self.gain._asdict(),
            "stopping_rule": rule,
            "calibration": self._thresholds.reliability,
            "drafted_error": self._thresholds.acceptances[self._best].drafted_error,
            "curve": [
                {"p_min": p_min, **point}
                for p_min, row in zip(self._thresholds.p_mins, self._rows, strict=True)
                for point in plan_json(row, basis)["curve"]
            ],
        }

    def text(self, basis: Basis) -> str:
        """Returns the readable form: the speed at each threshold, and the advice."""
        rule, acceptances = self._thresholds.rule, self._thresholds.acceptances
        gammas = [max(row.optimal_gamma, 1) for row in self._rows]

        def column(title: str, value: Callable[[Stopped, Plan, int], float]) -> Column[int]:
            return Column[int](
                title, lambda i: shown(value(acceptances[i], self._rows[i], gammas[i]))
            )

        columns = [
            Column[int]("p_min", lambda i: f"{self._thresholds.p_mins[i]:g}"),
            Column[int](GAMMA, lambda i: str(gammas[i])),
            column("tokens/call", lambda each, _, g: float(each.tokens_per_call(g))),
            column(
                "drafted/call",
                lambda each, _, g: float(each.drafted_per_token(g) * each.tokens_per_call(g)),
            ),
            column("speed-up", lambda _, row, g: float(row.curve.improvement_factor[g - 1])),
        ]
        what = "product of its probabilities" if rule.product else "probability"
        fails = "is verified" if rule.keeps else "is dropped after its draft step"
        lines = [
            f"{rule.name}, {rule.builds}, {basis.draft_sampling} drafts: a draft ends where its "
            f"{what} ({rule.confidence}) falls below p_min; the token that fails {fails}.",
            *basis.notes,
            "",
            table(range(len(gammas)), columns, best=lambda i: i == self._best, note=lambda i: ""),
            "",
            _advice(self.best, self.gain, *self.exported),
        ]
        if self._thresholds.reliability:
            lines += ["", *_reliability(self._thresholds.reliability)]
        error = acceptances[self._best].drafted_error
        if error > 0:
            lines.append(
                "Drafted tokens are an estimate, as drafts were recorded at some block starts or "
                f"are drawn: standard error {error:.2g} for each emitted token. Calls are exact."
            )
        return folded("\n".join(lines))


def _reliability(rows: Sequence[Mapping[str, float]]) -> list[str]:
    """Returns a table of the draft's confidences and of how often its tokens were accepted."""
    heads = {"draft states": "said", "is right": "right", "calibrated": "calibrated"}
    columns = [
        Column[Mapping[str, float]](head, lambda each, name=name: f"{each[name]:.2f}")  # type: ignore[misc]
        for head, name in heads.items()
    ]
    columns.append(Column("tokens", lambda each: f"{each['tokens']:.0f}"))
    return ["Each half of the texts is calibrated by the other half:", "", table(rows, columns)]


def _advice(row: Plan, gain: StopGain, exported: Plan, p_min: float) -> str:
    if row.optimal_gamma == 0:
        return "Do not speculate: no draft length and threshold gains."
    text = f"Best: gamma {gain.gamma} with p_min {gain.p_min:g}, {_gained(gain)}."
    if gain.p_min == p_min:
        return text
    return f"{text} So keep gamma {exported.advice.named} without a threshold (p_min 0)."


def _gained(gain: StopGain) -> str:
    """Returns the gain of a threshold with its interval, and on texts that did not choose it."""
    interval, held_out = "", "; one text gives no interval"
    if gain.low is not None and gain.high is not None and gain.held_out is not None:
        interval = f" ({percent()} interval {_percent(gain.low)} to {_percent(gain.high)})"
        held_out = f"; {_percent(gain.held_out)} on texts that did not choose it"
    return (
        f"{_percent(gain.value)}{interval} over the best fixed gamma {gain.fixed_gamma}{held_out}"
    )


def _percent(factor: float) -> str:
    return f"{100 * (factor - 1):+.1f} %"
