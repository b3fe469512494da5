"""Ours: latency of requests against their rate, with speculation and without."""

from dataclasses import dataclass

import numpy as np

from estimator.costs.deployed_cost import deployed_cost
from figures import drawing
from figures.numbers import Numbers
from figures.ours.batch_size import MAX_BATCH, default_load
from simulator.acceptance.acceptance import Iid
from simulator.cost.fitted.fit import ParametricCost
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.cost import RooflineCost
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand
from simulator.traffic.pair import Pair
from simulator.traffic.server import Prompts, Server, by_batch

DEMAND = Demand(512, 256)
GAMMA = 4
CHUNK = 2048
_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, MAX_BATCH)
# Rates drawn, as shares of each way's capacity.
_SHARES = np.concatenate([np.linspace(0.01, 0.9, 90), np.linspace(0.905, 0.995, 19)])


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficCurve(Numbers):
    """Latencies by request rate: milliseconds per token, and until the first token.

    Above a server's capacity they are infinite.

    break_even: requests per second above which speculation slows requests down; None: never.
    """

    pair: Pair
    break_even: float | None


@dataclass(frozen=True, slots=True)
class Served:
    """A server with and without speculation; caption: the models and their machine in words."""

    pair: Pair
    caption: str | None = None


def default_pair() -> Pair:
    """Returns servers of an 8B model on an H100, with a 1B draft (γ = 4) and without a draft.

    Their costs are fitted to public measurements.
    """
    load, gammas = default_load(), np.arange(1, GAMMA + 1)
    deployment = load.deployment
    posterior = deployed_cost(deployment, (), model="public").posterior
    points = [LoadPoint(round(DEMAND.context), batch) for batch in _BATCHES]
    costs = [ParametricCost(posterior, point) for point in points]
    times = [[cost.baseline_seconds, *cost.block_seconds(gammas)] for cost in costs]
    first = RooflineCost(costs[0], deployment=deployment, point=points[0])
    reading = {n: first.prompt_seconds(n) for n in (1, 64, 128, 256, 512)}
    alone, both = (
        Prompts({n: seconds[way] for n, seconds in reading.items()}, CHUNK) for way in (0, 1)
    )
    blocks = Blocks.of(Iid(load.alpha), GAMMA)
    server = Server(by_batch(_BATCHES, times, MAX_BATCH), blocks, both)
    return Pair(server, server.without(alone), DEMAND, (GAMMA,))


def compute(served: Served | None = None) -> TrafficCurve:
    """Returns latencies by request rate; served: None: the servers of `default_pair()`."""
    if served is None:
        load = default_load()
        words = f"{load.caption} by public measurements, γ = {GAMMA}, α = {load.alpha:g}"
        served = Served(default_pair(), words)
    pair = served.pair
    rates = _SHARES * max(float(pair.max_rate), float(pair.max_rate_without))
    alone, gammas = pair.under(0, rates), [step.named for step in pair.advice(rates)]
    points = []
    for place, (rate, gamma) in enumerate(zip(rates.tolist(), gammas, strict=True)):
        state = pair.under(gamma, rate)
        times = (
            *(state.token_seconds[0], alone.token_seconds[place]),
            *(state.first_seconds[0], alone.first_seconds[place]),
        )
        points.append((rate, gamma, *(1e3 * float(seconds) for seconds in times)))
    crossing = float(pair.break_even())
    return TrafficCurve(
        names=("rate", "gamma", "tpot_ms", "tpot_ms_without", "ttft_ms", "ttft_ms_without"),
        cells=tuple(points),
        caption=served.caption,
        pair=pair,
        break_even=None if np.isinf(crossing) else crossing,
    )


def title(data: TrafficCurve) -> str:
    """Returns the title: the request rate above which speculation makes requests slower."""
    most, without = float(data.pair.max_rate), float(data.pair.max_rate_without)
    if data.break_even is None:
        return f"Speculation shortens requests at every rate, up to {most:.3g} a second"
    if data.break_even == 0:
        return "Speculation lengthens requests at every rate"
    return (
        f"Speculation shortens requests up to {data.break_even:.3g} a second; "
        f"capacity: {most:.3g} with it and {without:.3g} without"
    )


def draw(data: TrafficCurve, caption: drawing.Caption) -> drawing.Figure:
    """Draws the time per token (top) and to the first token (bottom) against the rate."""
    where = f"; {data.caption}" if data.caption else ""
    figure, panels = caption.canvas(title=title(data), demand=data.pair.demand, where=where)
    for axes, name in zip(panels, ("tpot_ms", "ttft_ms"), strict=True):
        _panel(axes, data, name)
    return figure


def _panel(axes: drawing.Axes, data: TrafficCurve, name: str) -> None:
    from matplotlib.ticker import LogFormatter

    rates = np.array(data["rate"])
    most, without = float(data.pair.max_rate), float(data.pair.max_rate_without)
    axes.set_yscale("log")
    for column, colour, label, limit in (
        (name, drawing.BLUE, "with speculation", most),
        (f"{name}_without", drawing.VERMILION, "without", without),
    ):
        values = np.array(data[column])
        finite = np.isfinite(values)
        axes.plot(rates[finite], values[finite], color=colour, linewidth=2, label=label)
        axes.axvline(limit, color=colour, linewidth=1, linestyle=":")
    right = 1.03 * max(most, without)
    if data.break_even:
        axes.axvline(data.break_even, color=drawing.INK, linewidth=1)
        early = data.break_even < right / 2
        drawing.note(
            axes, "break-even", (data.break_even, 0.04), within=("data", "axes fraction"),
            offset=(4 if early else -4, 0), align=f"{'left' if early else 'right'} bottom",
        )  # fmt: skip
    for ticks in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        ticks(LogFormatter(labelOnlyBase=False, minor_thresholds=(1.5, 0.5)))
    axes.set_xlim(0, right)
    drawing.key(axes, anchor=(0.3, 0.72))
