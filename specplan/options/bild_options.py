"""The options of `--decoder bild`. Imports nothing heavy."""

import click

from specplan.options.declared import option
from specplan.options.ranges import integers, numbers
from studies.bild import CERTAINTY, DISTANCE, FALLBACKS, ONE_FALLBACK, ONE_ROLLBACK, ROLLBACKS


class BildMeasures:
    """Measures of certainty and distance."""

    certainty = option(
        type=click.Choice(["probability", "entropy"]),
        advanced=True,
        help="Measure that --fallback limits: the largest probability or 1/perplexity.  "
        f"[default: {CERTAINTY}]",
    )
    distance = option(
        type=click.Choice(["cross-entropy", "kl", "total-variation", "disagreement"]),
        advanced=True,
        help=f"Measure that --rollback limits.  [default: {DISTANCE}]",
    )


class SweptOptions(BildMeasures):
    """Thresholds of a sweep."""

    fallback = option(
        callback=numbers,
        metavar="F,F,...",
        advanced=True,
        help="With --decoder bild: the small model hands over below this certainty; a list or "
        f"range.  [default: {','.join(f'{value:g}' for value in FALLBACKS)}]",
    )
    rollback = option(
        callback=numbers,
        metavar="R,R,...",
        advanced=True,
        help="With --decoder bild: the large model replaces tokens farther than this from its own "
        f"distribution; inf: none.  [default: {','.join(f'{value:g}' for value in ROLLBACKS)}]",
    )
    windows = option(
        callback=integers,
        metavar="N,N,...",
        advanced=True,
        help="With --decoder bild: also fixed windows of so many tokens, without a fallback.",
    )


class ThresholdOptions(BildMeasures):
    """One pair of thresholds."""

    fallback: float | None = option(
        advanced=True,
        help="With --decoder bild: the small model hands over below this certainty.  "
        f"[default: {ONE_FALLBACK:g}]",
    )
    rollback: float | None = option(
        advanced=True,
        help="With --decoder bild: the large model replaces tokens farther than this from its own "
        f"distribution; inf: none.  [default: {ONE_ROLLBACK:g}]",
    )
