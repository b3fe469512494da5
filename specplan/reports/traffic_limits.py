"""The limits of a server: captured graphs, the rate above which drafts lose, and GPUs compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simulator.choice.advice import certainty
from simulator.cost.roofline.hardware import find_hardware
from simulator.numerics.intervals import percent
from simulator.traffic.answer import TrafficRequest
from simulator.traffic.pair import Pair
from specplan.reports.table import Column, table

# Share of a server's time above which its prompts are named as the cause of a small gain.
MOSTLY_PROMPTS = 0.5


def overloaded(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Returns the rates that overload the server both ways, without the first two of them."""
    both = zip(rows[::2], rows[1::2], strict=True)
    return [slow["rate"] for slow, quick in both if not (slow["stable"] or quick["stable"])][2:]


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
    return [f"Requests decoded together: at most {', '.join(limits)}. Larger steps exceed the "
            f"captured graphs of {wall.most} {wall.unit}, and their time is not known. Limit the "
            f"server to as many requests. {moves}"]  # fmt: skip


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
    edge, where = zero["break_even_rate"], "nothing at any rate"
    if edge is None:
        where = "at every rate"
    elif edge > 0:
        where = f"up to {edge:.3g} requests/s, and nothing (K = 0) beyond"
    return [
        f"{above} a server without speculation is the fastest. One that has its draft anyway "
        f"should draft {where}."
    ]


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


def crossing_text(
    crossing: float | None,
    ends: Sequence[float] | None,
    chances: Mapping[float, float | None],
    pair: Pair,
) -> str:
    """Returns at which rates speculation shortens requests, and the gain's probability by rate.

    crossing: rate above which speculation lengthens requests; 0: at every rate; None: at no rate.
    ends: interval of `crossing`; None: exact. chances: probability of a gain by rate.
    pair: the servers, for a remark if times are known at one batch only.
    """
    end = ", assuming larger batches cost the same" * bool(batch_lines(pair))
    words = [(certainty(odds), f"{rate:g}") for rate, odds in chances.items() if odds is not None]
    by_word = [f"{word} at {', '.join(r for w, r in words if w == word)}" for word in dict(words)]
    odds = f" A gain, by requests/s: {'; '.join(by_word)}." if by_word else ""
    if crossing is None or crossing == 0:
        sure = ends is None or ends[0] == ends[1]
        verb, advice = ("shortens", "") if crossing is None else ("lengthens", ": do not speculate")
        probably, advice = ("", advice) if sure else ("most probably ", "")
        return (
            f"Speculation {probably}{verb} requests at every rate below the capacity{end}{advice}."
            f"{odds}"
        )
    between = "" if ends is None else f" ({percent()}: above {ends[0]:.3g} to {ends[1]:.3g})"
    between = between.replace("inf", "never")
    return f"Above {crossing:.3g} requests/s speculation lengthens requests{between}{end}.{odds}"


def machine_rows(
    machines: Sequence[tuple[str, int]], answers: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Returns the JSON answer of each machine with its GPU and TP; machines: (GPU, TP)."""
    both = zip(machines, answers, strict=True)
    return [{"gpu": find_hardware(gpu).name, "tp": tp, **data} for (gpu, tp), data in both]


def machines_text(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> str:
    """Returns the capacities of machines as a table, then the text of each.

    rows: the result of `machine_rows`. texts: the answer of each machine as text.
    """
    most = "most_requests_per_second"
    columns: list[Column[Mapping[str, Any]]] = [
        ("GPU", "{gpu}"),
        ("TP", "{tp}"),
        ("capacity with speculation", f"{{{most}:.3g}}"),
        ("without", f"{{{most}_without:.3g}}"),
        ("with, a GPU", lambda cells: f"{cells[most] / cells['tp']:.3g}"),
    ]
    if f"{most}_at_share" in rows[0]:
        columns.append(("within the targets up to", f"{{{most}_at_share:.3g}}"))
    named = zip(rows, texts, strict=True)
    parts = [f"{row['gpu']}, TP {row['tp']}\n\n{text}" for row, text in named]
    return "\n\n".join([table(rows, columns), *parts])
