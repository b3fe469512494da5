"""How often, how precisely and how long runs are timed."""

from __future__ import annotations

import math

import click

from estimator.settings import PRECISION_PERCENT
from specplan.options.declared import command_option, together


def _number(_ctx: click.Context, _param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 <= value < math.inf:
        raise click.BadParameter(f"must be finite and at least 0, got {value:g}")
    return value


timing_options = together(
    command_option(
        "--repeats", type=click.IntRange(min=1), default=3, help="Timings of each run, at most."
    ),
    command_option(
        "--precision",
        metavar="PERCENT",
        type=float,
        default=PRECISION_PERCENT,
        callback=_number,
        help="Time no more once the clock lets no speed-up be off by more, 95 % of the time.",
    ),
    command_option(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        callback=_number,
        help="Begin no more runs after this, all drafts and temperatures together; two prompts, of "
        "a profile and with BiLD all, run once in any case.  [default: 120 of the embedded target, "
        "else none]",
        advanced=True,
    ),
)
