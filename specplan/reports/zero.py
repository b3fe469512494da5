"""K = 0 on a server that speculates, against K above 0 and a server without speculation."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from simulator.choice.plan import Plan
from simulator.choice.schedule import faster_than_zero, last_paying_batch, schedules

if TYPE_CHECKING:
    from simulator.cost.zero import SpeculatingZero

_NOTHING = 0.005


def zero_json(row: Plan) -> dict[str, Any] | None:
    """Returns the price of drafting nothing, and the γ that is faster than it (0: none)."""
    zero = row.setting.zero
    if zero is None:
        return None
    return {
        "ratio": zero.ratio, "low": zero.low, "high": zero.high, "source": zero.source,
        "faster_gamma": min(faster_than_zero(row, row.only), default=0),
    }  # fmt: skip


def break_evens_json(rows: Sequence[Plan], only: int | None) -> list[dict[str, Any]]:
    """Returns for each context the last batch sizes at which drafting is the fastest.

    `against_zero`: against a server that speculates and drafts nothing; `against_none`: against a
    server without speculation. None where drafting is never faster.
    """
    plain = schedules(rows, only, restarted=True)
    return [
        {
            "context": context,
            "against_none": last_paying_batch(plain[context]),
            "against_zero": last_paying_batch(ranges),
        }
        for context, ranges in schedules(rows, only).items()
    ]


def zero_note(row: Plan) -> str:
    """Returns a sentence on the three choices at one load; "" if they are of no use there."""
    zero = row.setting.zero
    gain = row.point(row.advice.named).improvement_factor if row.advice.named > 0 else 1.0
    if (
        zero is None
        or row.advice.undecided
        or (row.advised_gamma > 0 and not zero.source.startswith("your runs"))
    ):
        return ""
    gamma = min(faster_than_zero(row, row.only), default=0)
    if gamma == 0:
        return f"{_priced(zero)} At this load it is still faster than drafting."
    if row.advised_gamma == 0:
        gain = row.point(gamma).improvement_factor
        return (
            f"{_priced(zero)} So start the server without speculation for this load; one that has "
            f"its draft anyway is {100 * (gain * zero.ratio - 1):.0f} % faster with K = {gamma}."
        )
    more = 100 * (gain * zero.ratio - 1)
    return f"{_priced(zero)} K = {row.advice.named} is {more:.0f} % faster than that."


def zero_lines(rows: Sequence[Plan], only: int | None, context: int) -> list[str]:
    """Returns sentences on the price of K = 0 in a schedule, and on both break-even batch sizes."""
    plain = last_paying_batch(schedules(rows, only, restarted=True)[context])
    drafting = last_paying_batch(schedules(rows, only)[context])
    if plain is None or drafting is None:
        return []
    placed = sorted((row for row in rows if row.setting.fits), key=lambda row: row.place)
    some = [row for row in placed if row.place[0] == context and row.place[1] > plain]
    if not some or some[0].setting.zero is None or some[0].setting.zero.ratio < 1 + _NOTHING:
        return []
    beyond = some[0]
    line = f"Beyond batch {plain} a server without speculation is the fastest."
    price = _priced(beyond.setting.zero, beyond.setting.batch)
    if drafting == plain:
        return [f"{price} {line}"]
    return [f"{price} {line} One that has its draft anyway should draft up to batch {drafting}."]


def zero_comment(rows: Sequence[Plan]) -> str:
    """Returns a comment why flags draft where the plan advises K = 0; "" if they do not."""
    lines = zero_lines(rows, rows[0].only, rows[0].place[0])
    if not lines and len(rows) > 1:
        (plain,) = schedules(rows, rows[0].only, restarted=True).values()
        (ranges,) = schedules(rows, rows[0].only).values()
        stopped = {part.last_batch for part in plain if part.gamma == 0}
        some = [row.setting for row in rows if row.setting.batch in stopped]
        if ranges != plain and some and some[0].zero is not None:
            lines = [f"{_priced(some[0].zero, some[0].batch)} So the server drafts there, too."]
    return "".join(f"# {line}\n" for line in wrap(" ".join(lines), width=98))


def _priced(zero: SpeculatingZero | None, batch: int | None = None) -> str:
    assert zero is not None
    where = "" if batch is None else f" at batch {batch}"
    return (
        f"A server that has its draft and drafts nothing takes {zero.ratio:.2f} times "
        f"[{zero.low:.2f}, {zero.high:.2f}] the time of one without speculation{where} "
        f"({zero.source})."
    )
