"""How often, how precisely and how long runs are timed."""

from __future__ import annotations

import click

from estimator.settings import PRECISION_PERCENT
from specplan.options.declared import command_option, together
from specplan.options.ranges import duration

timing_options = together(
    command_option(
        "--repeats", type=click.IntRange(min=1), default=3, help="Timings of each run, at most."
    ),
    command_option(
        "--precision", metavar="PERCENT", type=float, default=PRECISION_PERCENT, callback=duration,
        help="Time no more once the clock lets no speed-up be off by more, 95 % of the time.",
    ),
    command_option(
        "--time-limit", metavar="SECONDS", type=float, callback=duration, advanced=True,
        help="Begin no more runs after this, all drafts and temperatures together; two prompts, of "
        "a profile and with BiLD all, run once in any case.  [default: 120 of the embedded target, "
        "else none]",
    ),
)
