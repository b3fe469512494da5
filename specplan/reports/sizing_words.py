"""Sentences of `specplan size`: the answer, what is promised, and how sure it is."""

from __future__ import annotations

from math import floor, inf

from simulator.choice.odds import certainty, percentage
from simulator.numerics.intervals import percent
from simulator.traffic.fleet import Fleet
from simulator.traffic.sizing import Saved, Sizing

_LIMITS = {"TTFT": "TTFT", "TPOT": "TPOT", "memory": "Memory", "capacity": "Capacity"}
_ELSE = ": loosen a target, allow more GPUs a replica (--gpus-per-replica), or another draft"
# Below this probability, that fewer GPUs suffice is called unlikely.
_UNLIKELY = 0.4


def sentence(sizing: Sizing) -> str:
    """Returns the answer: the GPUs with speculation and without, and how likely it saves some."""
    best, without, saved, goal = sizing.best, sizing.best_without, sizing.saved, sizing.goal
    if best is None:
        return (
            f"No deployment keeps {_targets(sizing)} for {goal.share:.0%} of requests with at most "
            f"{goal.max_gpus} GPUs ({sizing.searched} combinations){goal.targets.hint or _ELSE}."
        )
    speculation = (
        f"with {best.replica.draft or 'the draft'} and K = {best.gamma}" if best.gamma
        else "without speculation"
    )  # fmt: skip
    money = "" if best.price is None else f", {best.price:.4g} an hour"
    carry = "carries" if best.gpus == 1 else "carry"
    start = (
        f"{best.gpus} {best.replica.gpu.upper()} in {_deployed(best)} {carry} {_rate(goal.rate)} "
        f"requests/s {speculation}{money}{_suffice(sizing, best)}"
    )
    if best.gamma == 0:
        return f"{start}; no draft makes it cheaper."
    if sizing.undecided:
        start = f"Undecided: run K = {best.gamma} and K = 0 first. {start}"
    if without is None or saved is None:
        return f"{start}; without speculation {goal.max_gpus} GPUs do not keep the targets."
    other = "" if without.price is None else f", {without.price:.4g} an hour"
    kind = "" if without.replica.gpu == best.replica.gpu else f" {without.replica.gpu.upper()}"
    plain = f"without speculation {without.gpus}{kind} ({_deployed(without)}{other})"
    return f"{start}; {plain}: {_fewer(saved, without.most_drawn)}."


def _fewer(saved: Saved, most: int) -> str:
    """Returns the GPUs that speculation saves, their interval and P(at least one).

    most: GPUs without speculation up to which the draws were counted.
    """
    gpus, than = abs(saved.gpus), "fewer" if saved.gpus > 0 else "more"
    fewer = f"{gpus} GPU{'s' * (gpus > 1)} {than}" if gpus else "as many GPUs"
    if saved.low is None or saved.high is None or saved.probability is None:
        return fewer
    if saved.low == inf:
        known = f"without speculation more than {most}"
    elif saved.high == inf:
        known = f"{saved.low:.0f} or more saved, as more than {most} may be needed without"
    elif saved.gpus > 0:
        known = f"{saved.low:.0f} to {saved.high:.0f}"
    else:
        known = f"{saved.low:.0f} to {saved.high:.0f} saved"
    words = "unlikely" if saved.probability < _UNLIKELY else certainty(saved.probability)
    some = f"some saving {words}, {percentage(saved.probability)}"
    return f"{fewer} ({percent()}: {known}; {some})"


def _rate(rate: float) -> str:
    """Returns a rate with at most four figures."""
    return f"{float(f'{rate:.4g}'):g}"


def _suffice(sizing: Sizing, best: Fleet) -> str:
    """Returns how likely the best fleet suffices, and how many GPUs do with at least 90 %."""
    if sizing.sufficient is None:
        return ""
    chance = floor(round(100 * sizing.sufficient, 6))  # never rounded up to 90 %
    known = f" (suffice{'s' * (best.gpus == 1)} with a probability of {percentage(chance / 100)}"
    if sizing.gpus_at is None or (most := sizing.gpus_at[1]) <= best.gpus:
        return f"{known})"
    if most == inf:
        return f"{known}; for at least 90 % more than {best.most_drawn} are needed)"
    return f"{known}; buy {most:.0f} for at least 90 %)"


def promises(sizing: Sizing) -> list[str]:
    """Returns what the best deployment promises, what limits it, and how sure the count is."""
    best, promised, goal = sizing.best, sizing.promise, sizing.goal
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
    lines.append(
        f"{sizing.searched} combinations were searched. Requests go to the replicas in turn; "
        f"{100 * goal.share:g} % of them keep the targets: that is the promise (--share)."
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
