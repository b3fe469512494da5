"""The options of `--decoder bild`. Imports nothing heavy."""

import click

from specplan.options.declared import command_option, together
from specplan.options.ranges import integers, numbers
from studies.bild import CERTAINTY, DISTANCE, FALLBACKS, ONE_FALLBACK, ONE_ROLLBACK, ROLLBACKS

MEASURES = [
    command_option(
        "--certainty",
        type=click.Choice(["probability", "entropy"]),
        advanced=True,
        help="Measure that --fallback limits: the largest probability or 1/perplexity.  "
        f"[default: {CERTAINTY}]",
    ),
    command_option(
        "--distance",
        type=click.Choice(["cross-entropy", "kl", "total-variation", "disagreement"]),
        advanced=True,
        help=f"Measure that --rollback limits.  [default: {DISTANCE}]",
    ),
]

bild_options = together(
    command_option(
        "--fallback",
        callback=numbers,
        metavar="F,F,...",
        advanced=True,
        help="With --decoder bild: the small model hands over below this certainty; a list or "
        f"range.  [default: {','.join(f'{value:g}' for value in FALLBACKS)}]",
    ),
    command_option(
        "--rollback",
        callback=numbers,
        metavar="R,R,...",
        advanced=True,
        help="With --decoder bild: the large model replaces tokens farther than this from its own "
        f"distribution; inf: none.  [default: {','.join(f'{value:g}' for value in ROLLBACKS)}]",
    ),
    command_option(
        "--windows",
        callback=integers,
        metavar="N,N,...",
        advanced=True,
        help="With --decoder bild: also fixed windows of so many tokens, without a fallback.",
    ),
    *MEASURES,
    heading="BiLD",
)

one_bild_options = together(
    command_option(
        "--fallback",
        type=float,
        advanced=True,
        help="With --decoder bild: the small model hands over below this certainty.  "
        f"[default: {ONE_FALLBACK:g}]",
    ),
    command_option(
        "--rollback",
        type=float,
        advanced=True,
        help="With --decoder bild: the large model replaces tokens farther than this from its own "
        f"distribution; inf: none.  [default: {ONE_ROLLBACK:g}]",
    ),
    *MEASURES,
    heading="BiLD",
)
