"""How often runs are timed."""

from __future__ import annotations

import math

import click

DEFAULT_PRECISION = 3.0


def _percent(_ctx: click.Context, _param: click.Parameter, value: float) -> float:
    if not 0 <= value < math.inf:
        raise click.BadParameter(f"must be finite and at least 0, got {value:g}")
    return value


repeats_option = click.option(
    "--repeats", type=click.IntRange(min=1), default=3, help="Timings of each run, at most."
)
precision_option = click.option(
    "--precision",
    metavar="PERCENT",
    type=float,
    default=DEFAULT_PRECISION,
    callback=_percent,
    help="Time no more once 95 % of the clock's deviations reach no further than this.",
)
