"""The options of `--decoder bild`. Imports nothing heavy."""

import click

from specplan.options.declared import rare
from specplan.options.ranges import integers, numbers
from studies.bild import CERTAINTY, DISTANCE, FALLBACKS, ONE_FALLBACK, ONE_ROLLBACK, ROLLBACKS


class BildMeasures:
    """Options of BiLD's measures of certainty and distance."""

    certainty = rare(
        type=click.Choice(["probability", "entropy"]),
        help="Measure that --fallback limits: the largest probability or 1/perplexity.  "
        f"[default: {CERTAINTY}]",
    )
    distance = rare(
        type=click.Choice(["cross-entropy", "kl", "total-variation", "disagreement"]),
        help=f"Measure that --rollback limits.  [default: {DISTANCE}]",
    )


class SweptOptions(BildMeasures):
    """Options of a sweep of thresholds.

    windows: With --decoder bild: also fixed windows of so many tokens, without a fallback.
    """

    fallback = rare(
        callback=numbers,
        metavar="F,F,...",
        help="With --decoder bild: the small model hands over below this certainty; a list or "
        f"range.  [default: {','.join(f'{value:g}' for value in FALLBACKS)}]",
    )
    rollback = rare(
        callback=numbers,
        metavar="R,R,...",
        help="With --decoder bild: the large model replaces tokens farther than this from its own "
        f"distribution; inf: none.  [default: {','.join(f'{value:g}' for value in ROLLBACKS)}]",
    )
    windows = rare(callback=integers, metavar="N,N,...")


class ThresholdOptions(BildMeasures):
    """Options of one pair of thresholds."""

    fallback: float | None = rare(
        help="With --decoder bild: the small model hands over below this certainty.  "
        f"[default: {ONE_FALLBACK:g}]"
    )
    rollback: float | None = rare(
        help="With --decoder bild: the large model replaces tokens farther than this from its own "
        f"distribution; inf: none.  [default: {ONE_ROLLBACK:g}]"
    )
