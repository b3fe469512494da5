"""Sentences of `specplan size`: the answer, what is promised, and how sure it is."""

from __future__ import annotations

from math import inf

from simulator.choice.odds import percentage
from simulator.numerics.intervals import percent
from simulator.traffic.counted import ENOUGH
from simulator.traffic.fleet import Fleet
from simulator.traffic.limit import in_turn
from simulator.traffic.saved import Saved
from simulator.traffic.sizing import Sizing
from simulator.traffic.steady import steady
from specplan.reports.next_run import next_line, numbers, run_options, runs_text

_ELSE = ": loosen a target, allow more GPUs a replica (--gpus-per-replica), or another draft"


def sentence(sizing: Sizing) -> str:
    """Returns the answer: the GPUs to take, how likely they suffice, and those without drafts."""
    best, without, goal = sizing.best, sizing.best_without, sizing.goal
    if best is None:
        return (
            f"No deployment keeps {_targets(sizing)} for {goal.share:.0%} of requests with at most "
            f"{goal.max_gpus} GPUs ({sizing.searched} combinations){goal.targets.hint or _ELSE}."
        )
    speculation = (
        f"with {best.replica.draft or 'the draft'} and K = {best.gamma}" if best.gamma
        else "without speculation"
    )  # fmt: skip
    known = enough(best.probability, ": enough with a probability of ")
    known += ", which no run shows yet" * (best.gamma > 0 and bool(known) and not sizing.undecided)
    start = (
        f"ake {best.gpus} {best.replica.gpu.upper()} ({_deployed(best)}) {speculation} for "
        f"{float(f'{goal.rate:.4g}'):g} requests/s{known}."
    )
    first = f"Undecided: run K = {best.gamma} and K = 0 first. If they confirm it, t"
    start = (first if sizing.undecided else "T") + start
    if best.gamma == 0:
        return f"{start} No draft makes it cheaper."
    if without is None:
        return f"{start} Without speculation {goal.max_gpus} GPUs do not keep the targets."
    return f"{start} {_without(without, best)}"


def enough(chance: float | None, start: str = "") -> str:
    """Returns the probability that GPUs suffice in per cent; "" if nothing is uncertain.

    Less than `ENOUGH` is never rounded to it.
    """
    if chance is None:
        return ""
    least, shown = percentage(ENOUGH), percentage(chance)
    return start + (percentage(ENOUGH - 0.01) if chance < ENOUGH and shown == least else shown)


def _without(without: Fleet, best: Fleet) -> str:
    """Returns the GPUs that are taken without speculation, and how many more these are."""
    chance, more = without.probability, without.gpus - best.gpus
    kind = "" if without.replica.gpu == best.replica.gpu else f" {without.replica.gpu.upper()}"
    named = f"{without.gpus}{kind} ({_deployed(without)}"
    if chance is not None and chance < ENOUGH:
        return f"Without speculation {named}) are enough with only {enough(chance)}."
    than = f": {abs(more)} GPU{'s' * (abs(more) > 1)} {'more' if more > 0 else 'fewer'}"
    than = than if more else ", as many"
    return f"Without speculation it takes {named}{enough(chance, '; ')}){than}."


def _rule(best: Fleet) -> list[str]:
    """Returns why so many GPUs are taken, and how likely one replica less or more suffices."""
    least, size = percentage(ENOUGH), best.replica.gpus
    if best.probability is None:
        return []
    rule = (
        f"Rule: the fewest GPUs that are enough with a probability of at least {least}. That is "
        f"right where a shortage costs {ENOUGH / (1 - ENOUGH):.0f} times what idle GPUs cost."
    )
    if best.probability < ENOUGH:
        rule = f"No number of GPUs up to {best.most_drawn} is enough with {least}."
    numbers = [best.replicas + step for step in (-1, 1)]
    others = [f"{size * some} with {enough(best.sufficient(some))}" for some in numbers
              if 0 < size * some <= best.goal.max_gpus]  # fmt: skip
    return [f"{rule} Other numbers: {', '.join(others)}." if others else rule]


def _saving(saved: Saved | None, without: Fleet | None) -> list[str]:
    """Returns how likely the answer's GPUs are fewer than without speculation."""
    if saved is None or without is None or saved.probability is None:
        return []
    known = f"{saved.low:.0f} to {saved.high:.0f} fewer"
    if saved.high == inf:
        most = f"more than {without.most_drawn} without"
        known = most if saved.low == inf else f"at least {saved.low:.0f} fewer"
    return [
        f"With a probability of {percentage(saved.probability)} fewer GPUs are needed with "
        f"speculation than without ({percent()}: {known})."
    ]


def promises(sizing: Sizing, *, command: str = "") -> list[str]:
    """Returns what the best deployment promises, what limits it, and how sure the count is.

    command: the command of `traffic` for the best deployment; "": not known.
    """
    best, promised, goal = sizing.best, sizing.promise, sizing.goal
    if best is None:
        return []
    lines = _rule(best)
    if best.gamma > 0:
        lines += _saving(sizing.saved, sizing.best_without)
    if promised is not None:
        first = " / ".join(f"{1e3 * seconds:.0f}" for seconds in promised.first_seconds)
        token = " / ".join(f"{1e3 * seconds:.1f}" for seconds in promised.token_seconds)
        lines.append(
            f"If the predicted times are right, {100 * promised.share:.1f} % of requests keep "
            f"{_targets(sizing)} (TTFT {100 * promised.first_share:.1f} %, TPOT "
            f"{100 * promised.token_share:.1f} %; simulated with all replicas). TTFT p50 / p95 / "
            f"p99: {first} ms; TPOT: {token} ms."
        )
    binds, ends = sizing.binds or "capacity", sizing.next_rates
    due = f"The next replica is due above {sizing.next_rate:.3g} requests/s."
    if ends is not None:
        due = (
            f"By the rule the next replica is due above {ends[1]:.3g} requests/s. Most probably "
            f"these GPUs keep up to {sizing.next_rate:.3g} ({percent()}: {ends[0]:.3g} to "
            f"{ends[2]:.3g})."
        )
    lines.append(f"{binds[0].upper()}{binds[1:]} binds. {due}")
    lines += _next(best, command)
    lines.append(
        f"{sizing.searched} combinations were searched. Requests go to the replicas in turn; "
        f"{100 * goal.share:g} % of them keep the targets: that is the promise (--share)."
    )
    return lines


def next_command(best: Fleet | None, command: str) -> str:
    """Returns a command of `traffic` with the next runs; "" if nothing is uncertain, or no command.

    command: see `promises`.
    """
    if not command or best is None or best.probability is None:
        return ""
    gammas, batch, context = _runs(best)
    return f"{command} {run_options(gammas, batch=batch, context=context, counted=True)}"


def _runs(best: Fleet) -> tuple[list[int], int, int]:
    """Returns the draft lengths to run on one replica, and the batch and context of the runs."""
    demand = best.replica.pair.demand
    rate, shared = best.goal.rate / best.replicas, in_turn(demand, best.replicas)
    state = steady(best.replica.pair.server(best.gamma), shared, best.gamma, rate)
    return sorted({0, best.gamma}), max(round(float(state.batch[0])), 1), round(demand.context)


def _next(best: Fleet, command: str) -> list[str]:
    """Returns the runs of one replica that make the answer sure; [] if nothing is uncertain."""
    if best.probability is None:
        return []
    gammas, batch, context = _runs(best)
    if not command:
        to = "'specplan traffic' for one replica, with these requests and models"
        return [next_line(gammas, batch=batch, context=context, counted=True, to=to)]
    meaning = numbers(next_command(best, command))
    return [f"Next: before you rely on it, run {runs_text(gammas, context, batch)} on one replica, "
            f"and plan again with their numbers by the command below ({meaning})."]  # fmt: skip


def layout(tp: int, ep: int, dp: int) -> str:
    """Returns how a replica's GPUs share the model, for example `TP 1, EP 8, DP 8`."""
    return ", ".join([f"TP {tp}", *[f"EP {ep}"] * (ep > 1), *[f"DP {dp}"] * (dp > 1)])


def _deployed(fleet: Fleet) -> str:
    """Returns a fleet's replicas in words, for example `3 replicas of TP 4`."""
    replica, several = fleet.replica, "s" * (fleet.replicas > 1)
    ways, price = layout(replica.tp, replica.ep, replica.dp), fleet.price
    money = "" if price is None else f", {price:.4g} an hour"
    return f"{fleet.replicas} replica{several} of {ways}{money}"


def _targets(sizing: Sizing) -> str:
    targets = sizing.goal.targets
    named = (("TTFT", targets.first_seconds), ("TPOT", targets.token_seconds))
    return " and ".join(f"{name} {1e3 * limit:g} ms" for name, limit in named if limit is not None)
