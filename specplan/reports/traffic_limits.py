"""The limits of a server: captured graphs, the rate above which drafts lose, and GPUs compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.traffic.answer import Traffic, TrafficRequest
from simulator.traffic.pair import Pair
from specplan.reports.replica_flags import SLOTS

# Share of a server's time above which its prompts are named as the cause of a small gain.
MOSTLY_PROMPTS = 0.5


def graphs_lines(pair: Pair, gammas: set[int]) -> list[str]:
    """Returns a warning if captured CUDA graphs limit how many requests are decoded together."""
    wall, most = pair.wall, pair.baseline.max_batch(pair.demand)
    if wall is None:
        return []
    moves = f"{wall.flag} moves the limit."
    if pair.eager:
        size = wall.size(most, 0)
        return [f"! Up to {size} {wall.unit} a step without speculation, and graphs are captured "
                f"up to {wall.most}: times beyond are not known well. {moves}"]  # fmt: skip
    few = {gamma: pair.server(gamma).slots for gamma in sorted(gammas)}
    limits = [f"{slots} at gamma {gamma}" for gamma, slots in few.items() if slots < most]
    if not limits:
        return []
    return [f"Requests decoded together with one K at all batches: at most {', '.join(limits)}. "
            "Larger steps exceed the "
            f"captured graphs of {wall.most} {wall.unit}, and their time is not known. Limit the "
            f"server to as many requests (vLLM: {SLOTS['vllm']}, SGLang: "
            f"{SLOTS['sglang']}). {moves}"]  # fmt: skip


def server_lines(pair: Pair, gammas: set[int]) -> list[str]:
    """Returns warnings about the times of batches that are not known; gammas: those shown."""
    return [*batch_lines(pair), *graphs_lines(pair, gammas)]


def batch_lines(pair: Pair) -> list[str]:
    """Returns a warning if times are known at one batch only."""
    if len(pair.measured) != 1 or pair.baseline.slots == 1:
        return []
    (batch,) = pair.measured
    return [f"Times are known at batch {batch} only. Larger batches are assumed to cost the same, "
            "which is too optimistic: give a GPU and both configurations, a profile of 'measure "
            "--batch', or runs of several batches."]  # fmt: skip


def assumption(pair: Pair) -> str:
    """Returns, after a comma, the assumption on times if they are known at one batch; else ""."""
    return ", assuming larger batches cost the same" * bool(batch_lines(pair))


def zero_json(request: TrafficRequest) -> dict[str, float | None] | None:
    """Returns the rate above which a server with its draft drafts nothing; None: no price known."""
    pair = request.pair.against_zero
    if pair is None:
        return None
    rate = request.replicas * float(pair.break_even())
    return {"break_even_rate": rate if np.isfinite(rate) else None}


def zero_lines(plain: float | None, zero: Mapping[str, float | None] | None) -> list[str]:
    """Returns a sentence on the three choices: drafts, K = 0 in the schedule, no speculation.

    plain: rate above which speculation lengthens requests. zero: the result of `zero_json`.
    """
    if plain is None or zero is None:
        return []
    above = f"Above {plain:.3g} requests/s" if plain > 0 else "At every rate"
    edge = zero["break_even_rate"]
    drafts = "set K = 0 at every rate"
    if edge is None:
        drafts = "keep drafting at every rate"
    elif edge > 0:
        drafts = f"draft up to {edge:.3g} requests/s, and set K = 0 above"
    slower = ", because its draft costs time even at K = 0" * (edge is None or edge > plain)
    return [
        f"{above} restart the server without its draft{slower}. If you keep it running: {drafts}."
    ]


def missed_words(answer: Traffic, data: Mapping[str, Any]) -> str:
    """Returns the rates at which too few requests meet the targets, and what helps; "" if none."""
    if answer.at_share is None:
        return ""
    needed, rates, best = data["share"], [], 0.0
    for rate in dict.fromkeys(point["rate"] for point in data["rows"]):
        shares = [point["goodput"] / rate for point in data.get("simulated") or ()
                  if point["rate"] == rate]  # fmt: skip
        if max(shares) < needed if shares else rate > max(answer.at_share):
            rates.append(f"{rate:g}")
            best = max(shares, default=0.0)
    if not rates:
        return ""
    *some, last = rates
    most = f" ({100 * best:.1f} % at best{f' at {last}/s' * bool(some)})" * (best > 0)
    return (
        f" At {', '.join(some)}{' and ' * bool(some)}{last}/s no setting keeps the targets for "
        f"{100 * needed:.0f} % of the requests{most}: it takes more GPUs, which 'specplan size' "
        "counts."
    )


def prompts_per_second(request: TrafficRequest) -> float:
    """Returns how many prompts the server can read in a second, at most."""
    pair = request.pair
    step = float(min(pair.drafting.seconds.min(), pair.baseline.seconds.min()))
    prompts = float(pair.baseline.prompts.max_rate(pair.demand.prompt_tokens, step))
    return request.replicas * prompts


def prompts_lines(plain: float, prompts: float) -> list[str]:
    """Returns a sentence if prompts take most of the time of a server, which drafts do not shorten.

    plain: capacity without speculation, in requests/s. prompts: capacity if nothing but prompts
      were computed.
    """
    share = plain / prompts
    if share < MOSTLY_PROMPTS:
        return []
    return [
        f"Prompts take {100 * share:.0f} % of the server's time at its capacity without "
        f"speculation ({plain:.3g} of {prompts:.3g} requests/s): drafts shorten only the rest. "
        "Cached prompts, or servers apart for them, gain more."
    ]
