"""How many n-grams a model has, as a table."""

from __future__ import annotations

from specplan.reports.output import table


def ngram_table(ngrams: tuple[int, ...]) -> str:
    """Returns the number of n-grams of each order, in words."""
    return table(
        [[str(order), f"{count:,}"] for order, count in enumerate(ngrams, start=1)],
        header=["order", "n-grams"],
    )
