"""Plans from Python: `specplan.plan` and its result."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass, field
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from engines.observing.observation import Observation
from simulator.numerics.intervals import percent
from specplan.door.inputs import both, usage_as_value_error
from specplan.door.plan_request import planned, requested
from specplan.door.stated import require_ranges
from specplan.options.inputs.times import OfRuns
from specplan.options.kinds import AcceptanceKind, CostKind
from specplan.options.plan_options import Answer, Choice

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from figures.drawing import Figure
    from simulator.choice.advice import Advice
    from simulator.choice.curve import Curve
    from simulator.choice.plan import Plan
    from specplan.reports.plan import Origin

__all__ = ["Best", "PlanResult", "plan"]
_ROWS_PAST = 3


class Best(NamedTuple):
    """The draft length with the largest speed-up. If no length gains: gamma 0, speed-up 1."""

    gamma: int
    speed_up: float
    tokens_per_call: float


@dataclass(frozen=True)
class PlanResult:
    """A plan. It prints as the text of `specplan plan`; a notebook shows it as a table.

    plan: the plan in full (`simulator.choice.plan.Plan`).
    server: the engine that the plan is for; None means any engine.
    """

    plan: Plan
    origin: Origin = field(repr=False)
    server: str | None = None

    @property
    def best(self) -> Best:
        """The draft length with the largest speed-up; gamma 0 if no length gains."""
        point = self.plan.point(self.plan.optimal_gamma)
        return Best(point.gamma, point.improvement_factor, point.expected_tokens)

    @property
    def advice(self) -> Advice:
        """The decision: the γ to run (0: none), the probability of a gain, the next run."""
        return self.plan.advice

    @property
    def curve(self) -> Curve:
        """Arrays by γ = 1, 2, ...: gamma, speed_up, low, high (the interval), expected_tokens."""
        return self.plan.curve

    def flags(self) -> str:
        """Returns the flags that make the server given to `plan` draft the advised γ."""
        from specplan.reports.flags import flags_of_plans

        if self.server is None:
            raise ValueError("plan must be given a server to print its flags, got none")
        with usage_as_value_error():
            return flags_of_plans((self.plan,), self.origin, server=self.server)

    def json(self) -> Mapping[str, Any]:
        """Returns the JSON object of `specplan plan --json`."""
        from specplan.reports.plans import plan_json

        return plan_json(self.plan, self.origin)

    def __str__(self) -> str:
        from specplan.reports.plan import plan_text

        return plan_text(self.plan, self.origin)

    def __repr__(self) -> str:
        best = self.best
        return (
            f"<plan: best gamma {best.gamma}, speed-up {best.speed_up:.2f}; "
            f"advised gamma {self.advice.gamma}>"
        )

    def _repr_html_(self) -> str:
        """Returns the table that a notebook shows."""
        curve, best, advised = self.curve, self.best.gamma, self.advice.gamma
        last = min(len(curve.gamma), max(8, best + _ROWS_PAST, advised))
        heads = ["gamma (K)", "tokens/call", "speed-up", *([percent()] if curve.in_doubt else [])]
        rows = [_row("th", heads)]
        for gamma in range(1, last + 1):
            _, tokens, speed, _, low, high = curve.point(gamma)
            cells = [str(gamma), f"{tokens:.2f}", f"{speed:.2f}"]
            cells += [f"{low:.2f} to {high:.2f}"] if curve.in_doubt else []
            marks = [name for name, own in (("best", best), ("advised", advised)) if own == gamma]
            rows.append(_row("td", [*cells, ", ".join(marks)]))
        return f"<table>{''.join(rows)}</table>"

    def plot(self) -> Figure:
        """Returns a drawing of the speed-up by γ, with its interval (needs matplotlib)."""
        from figures import drawing

        curve, best = self.curve, self.best
        marked = {best.gamma: "best", self.advice.gamma: "advised"}
        if best.gamma == self.advice.gamma:
            marked = {best.gamma: "best and advised"}
        last = min(len(curve.gamma), max(8, 2 * max(marked)))
        title = f"Speed-up {best.speed_up:.2f} at gamma {best.gamma}"
        interval = f"; band: {percent()} interval" if curve.in_doubt else ""
        figure, (axes,) = drawing.Caption(
            title=title if best.gamma else "No draft length gains",
            source=f"specplan.plan{interval}",
            x="drafted tokens per block, gamma",
            y="speed-up",
        ).canvas()
        gammas, speeds = curve.gamma[:last], curve.speed_up[:last]
        if curve.in_doubt:
            axes.fill_between(gammas, curve.low[:last], curve.high[:last], color=drawing.PALE)
        axes.axhline(1.0, color=drawing.GREY, linewidth=1)
        drawing.note(axes, "no speculation", (last, 1.0), offset=(0, 4), align="right bottom")
        axes.plot(gammas, speeds, "o-", color=drawing.BLUE, markersize=4)
        for gamma in set(marked) - {0}:
            place = (gamma, float(speeds[gamma - 1]))
            axes.plot(*place, "D", color=drawing.VERMILION, markersize=8)
            drawing.note(axes, marked[gamma], place, offset=(0, 9), align="center bottom")
        axes.margins(y=0.15)
        drawing.count_on(axes.xaxis)
        return figure


def plan(
    acceptance: AcceptanceKind | OfRuns | Observation | Profile,
    cost: CostKind | Profile | None = None,
    *,
    gamma: int | None = None,
    max_gamma: int = 32,
    near: float = 1.0,
    c_hat: float | None = None,
    draft_kind: str | None = None,
    server: str | None = None,
) -> PlanResult:
    """Returns the plan for an acceptance and a cost, as `specplan plan` computes it.

    acceptance: Iid, ByPosition, AcceptedFraction, BlockEfficiency, Typical, a result of `observe`,
      or Recorded, Runs or a result of `measure`, which also have a cost.
    cost: Ratio, Times, Roofline, Runs, Recorded or a result of `measure`; None: the acceptance's
      cost, or the observed time of a token.
    gamma: draft length to evaluate; None: the best.
    max_gamma: largest draft length to consider, in 1..10,000.
    near: a smaller gamma is advised if it is at most this many per cent slower than the best.
    c_hat: operations of a draft step over operations of a target step; None: c.
    draft_kind: eagle3, mtp, suffix, ngram, ...: selects the prior for positions that were not
      counted; None: unknown.
    server: vllm, sglang, llama.cpp, ...: plans drafts as the server makes them, and `flags` returns
      its flags. None: any server.

    Raises OSError, ValueError if a file or a number cannot be used, or acceptance and cost do not
    fit together.
    """
    with usage_as_value_error():
        accepted, costs = both(acceptance, cost)
        choice = Choice(
            draft_kind=draft_kind, max_gamma=max_gamma, c_hat=c_hat, gamma=gamma, near=near
        )
        require_ranges(choice, Answer(server=server))
        rows, origin = planned(*requested(accepted, costs, choice, server=server))
    if len(rows) > 1:
        batches = sorted({row.cost.setting.batch for row in rows})
        raise ValueError(f"Runs must be given the batch to plan for, one of {batches}, got none")
    return PlanResult(rows[0], origin, server)


def exported(profile: Profile) -> dict[str, str]:
    """Returns flags by server that can run the profile's drafts; notes are comments above them."""
    from specplan.reports.flags import exported_to

    found = {}
    for server in exported_to():
        with suppress(ValueError), redirect_stderr(StringIO()) as notes:
            flags = plan(profile, server=server).flags()
            above = "".join(f"# {line.strip()}\n" for line in notes.getvalue().splitlines())
            found[server] = above + flags
    return found


def _row(tag: str, cells: list[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
