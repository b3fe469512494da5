"""The options of `--decoder bild`, and nothing heavy."""

from __future__ import annotations

import click

from specplan.options.declared import command_option, together
from specplan.options.ranges import integers, numbers
from studies.bild.settings import (
    CERTAINTY,
    DISTANCE,
    FALLBACKS,
    ONE_FALLBACK,
    ONE_ROLLBACK,
    ROLLBACKS,
)

MEASURES = [
    command_option(
        "--certainty",
        type=click.Choice(["probability", "entropy"]),
        help="What --fallback is of: the largest probability, or one over the perplexity.  "
        f"[default: {CERTAINTY}]",
        advanced=True,
    ),
    command_option(
        "--distance",
        type=click.Choice(["cross-entropy", "kl", "total-variation", "disagreement"]),
        help=f"What --rollback is of.  [default: {DISTANCE}]",
        advanced=True,
    ),
]

bild_options = together(
    command_option(
        "--fallback",
        callback=numbers,
        metavar="F,F,...",
        help="With --decoder bild: the small model hands over below this certainty; a list or "
        f"range.  [default: {','.join(f'{value:g}' for value in FALLBACKS)}]",
        advanced=True,
    ),
    command_option(
        "--rollback",
        callback=numbers,
        metavar="R,R,...",
        help="With --decoder bild: the large model replaces tokens farther than this from its own "
        f"distribution; inf: none.  [default: {','.join(f'{value:g}' for value in ROLLBACKS)}]",
        advanced=True,
    ),
    command_option(
        "--windows",
        callback=integers,
        metavar="N,N,...",
        help="With --decoder bild: also fixed windows of so many tokens, without a fallback.",
        advanced=True,
    ),
    *MEASURES,
    heading="BiLD",
)

one_bild_options = together(
    command_option(
        "--fallback",
        type=float,
        help="With --decoder bild: the small model hands over below this certainty.  "
        f"[default: {ONE_FALLBACK:g}]",
        advanced=True,
    ),
    command_option(
        "--rollback",
        type=float,
        help="With --decoder bild: the large model replaces tokens farther than this from its own "
        f"distribution; inf: none.  [default: {ONE_ROLLBACK:g}]",
        advanced=True,
    ),
    *MEASURES,
    heading="BiLD",
)
