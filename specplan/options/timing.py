"""How often, how precisely and how long runs are timed."""

from __future__ import annotations

import math

import click

from specplan.options.declared import command_option

DEFAULT_PRECISION = 3.0


def _number(_ctx: click.Context, _param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 <= value < math.inf:
        raise click.BadParameter(f"must be finite and at least 0, got {value:g}")
    return value


repeats_option = command_option(
    "--repeats", type=click.IntRange(min=1), default=3, help="Timings of each run, at most."
)
precision_option = command_option(
    "--precision",
    metavar="PERCENT",
    type=float,
    default=DEFAULT_PRECISION,
    callback=_number,
    help="Time no more once the clock lets no speed-up be off by more, 95 % of the time.",
)
time_limit_option = command_option(
    "--time-limit",
    metavar="SECONDS",
    type=float,
    callback=_number,
    help="Begin no more runs after this, all drafts and temperatures together; each has at least "
    "two prompts.  [default: 120 of the embedded target, else none]",
    advanced=True,
)
