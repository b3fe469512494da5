"""Sentences of `specplan size`: the answer, what is promised, and how sure it is."""

from __future__ import annotations

from simulator.choice.advice import certainty, percentage
from simulator.numerics.intervals import percent
from simulator.traffic.fleet import Fleet
from simulator.traffic.sizing import Sizing

_LIMITS = {"TTFT": "TTFT", "TPOT": "TPOT", "memory": "Memory", "capacity": "Capacity"}
# Below this probability, that fewer GPUs suffice is called unlikely.
_UNLIKELY = 0.4


def sentence(sizing: Sizing) -> str:
    """Returns the answer: the GPUs with speculation and without, and how likely it saves some."""
    best, without, saved, goal = sizing.best, sizing.best_without, sizing.saved, sizing.goal
    if best is None:
        return (
            f"No deployment keeps {_targets(sizing)} for {goal.share:.0%} of requests with at most "
            f"{goal.max_gpus} GPUs ({sizing.searched} combinations): loosen a target, allow more "
            "GPUs a replica (--gpus-per-replica), or another draft."
        )
    speculation = (
        f"with {best.replica.draft or 'the draft'} and K = {best.gamma}" if best.gamma
        else "without speculation"
    )  # fmt: skip
    money = "" if best.price is None else f", {best.price:.4g} an hour"
    carry = "carries" if best.gpus == 1 else "carry"
    start = (
        f"{best.gpus} {best.replica.gpu.upper()} in {_deployed(best)} {carry} {_rate(goal.rate)} "
        f"requests/s {speculation}{money}"
    )
    if best.gamma == 0:
        return f"{start}; no draft makes it cheaper."
    if without is None or saved is None:
        return f"{start}; without speculation {goal.max_gpus} GPUs do not keep the targets."
    other = "" if without.price is None else f", {without.price:.4g} an hour"
    kind = "" if without.replica.gpu == best.replica.gpu else f" {without.replica.gpu.upper()}"
    plain = f"without speculation {without.gpus}{kind} ({_deployed(without)}{other})"
    if saved.gpus == 0:
        return f"{start}; {plain}: as many."
    gpus, than = abs(saved.gpus), "fewer" if saved.gpus > 0 else "more"
    fewer = f"{gpus} GPU{'s' * (gpus > 1)} {than}"
    return f"{start}; {plain}: {fewer}{_odds(saved.probability)}."


def _rate(rate: float) -> str:
    """Returns a rate with at most four figures."""
    return f"{float(f'{rate:.4g}'):g}"


def _odds(probability: float | None) -> str:
    if probability is None:
        return ""
    words = "unlikely" if probability < _UNLIKELY else certainty(probability)
    return f", {words} ({percentage(probability)} %)"


def _suffice(gpus: str) -> str:
    return "GPU suffices" if gpus == "1" else "GPUs suffice"


def promises(sizing: Sizing) -> list[str]:
    """Returns what the best deployment promises, what limits it, and how sure the count is."""
    best, saved, promised, goal = sizing.best, sizing.saved, sizing.promise, sizing.goal
    if best is None:
        return []
    lines = []
    if promised is not None:
        first = " / ".join(f"{1e3 * seconds:.0f}" for seconds in promised.first_seconds)
        token = " / ".join(f"{1e3 * seconds:.1f}" for seconds in promised.token_seconds)
        lines.append(
            f"Simulated with all replicas: {100 * promised.share:.1f} % of requests keep "
            f"{_targets(sizing)} (TTFT {100 * promised.first_share:.1f} %, TPOT "
            f"{100 * promised.token_share:.1f} %). TTFT p50 / p95 / p99: {first} ms; TPOT: "
            f"{token} ms."
        )
    lines.append(
        f"{_LIMITS[sizing.binds or 'capacity']} binds. The next replica is due above "
        f"{sizing.next_rate:.3g} requests/s{_between(sizing.next_rates)}."
    )
    if sizing.gpus_at is not None:
        half, most = (_or_more(gpus, best.gpus) for gpus in sizing.gpus_at)
        lines.append(
            f"With the doubt of costs and acceptance, {half} {_suffice(half)} with a probability "
            f"of {'50 %, ' + most + ' with ' if most != half else ''}90 %."
        )
    if saved is not None and saved.low is not None and saved.high is not None and best.gamma:
        low, high = (_or_more(gpus, best.gpus) for gpus in (saved.low, saved.high))
        lines.append(f"GPUs saved by speculation ({percent()}): {low} to {high}.")
    lines.append(
        f"{sizing.searched} combinations were searched. Requests go to the replicas in turn; "
        f"{goal.share:.0%} of them are promised the targets."
    )
    return lines


def _between(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f" ({percent()}: {ends[0]:.3g} to {ends[1]:.3g})"


def layout(tp: int, ep: int, dp: int) -> str:
    """Returns how a replica's GPUs share the model, for example `TP 1, EP 8, DP 8`."""
    return ", ".join([f"TP {tp}", *[f"EP {ep}"] * (ep > 1), *[f"DP {dp}"] * (dp > 1)])


def _deployed(fleet: Fleet) -> str:
    """Returns a fleet's replicas in words, for example `3 replicas of TP 4`."""
    replica, several = fleet.replica, "s" * (fleet.replicas > 1)
    return f"{fleet.replicas} replica{several} of {layout(replica.tp, replica.ep, replica.dp)}"


def _targets(sizing: Sizing) -> str:
    targets = sizing.goal.targets
    named = (("TTFT", targets.first_seconds), ("TPOT", targets.token_seconds))
    return " and ".join(f"{name} {1e3 * limit:g} ms" for name, limit in named if limit is not None)


def _or_more(gpus: float, known: int) -> str:
    return f"more than {4 * known}" if abs(gpus) == float("inf") else f"{gpus:.0f}"
