"""How many n-grams a model has, as a table."""

from specplan.reports.table import Column, table


def ngram_table(ngrams: tuple[int, ...]) -> str:
    """Returns the number of n-grams of each order, in words."""
    columns: list[Column[tuple[int, int]]] = [
        Column("order", lambda each: str(each[0])),
        Column("n-grams", lambda each: f"{each[1]:,}"),
    ]
    return table(enumerate(ngrams, start=1), columns)
