"""Chi-squared tests of counted outcomes against their exact law."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from scipy.stats import chi2

# Odds that a correct sampler fails one test. Seeds are fixed, so a test that passes stays so; the
# odds say how unlikely it was that a seed had to be changed.
FALSE_ALARM = 1e-6
LEAST_EXPECTED = 5.0
Outcome = TypeVar("Outcome", bound=Hashable)


def require_law(counts: Counter[Outcome], law: Mapping[Outcome, float]) -> None:
    """Fails if counts are too unlikely under law, or hold something that it excludes.

    Outcomes expected fewer than five times are counted together.
    """
    require_laws([(counts, law)])


def require_laws(tables: Iterable[tuple[Counter[Outcome], Mapping[Outcome, float]]]) -> None:
    """Fails if independent tables of counts are, all together, too unlikely under their laws."""
    statistic, freedom = 0.0, 0
    for counts, law in tables:
        assert counts.keys() <= {outcome for outcome, mass in law.items() if mass > 0}
        cells = compared_cells(counts, law)
        statistic += sum((seen - expected) ** 2 / expected for expected, seen in cells)
        freedom += max(len(cells) - 1, 0)
    if freedom > 0:
        assert statistic < chi2.isf(FALSE_ALARM, freedom)


def compared_cells(
    counts: Counter[Outcome], law: Mapping[Outcome, float]
) -> list[tuple[float, float]]:
    """Returns expected and seen counts, of rare outcomes together."""
    total = sum(counts.values())
    cells = [
        (total * mass, float(counts[outcome]))
        for outcome, mass in law.items()
        if total * mass >= LEAST_EXPECTED
    ]
    expected = total - sum(cell[0] for cell in cells)
    if expected >= LEAST_EXPECTED:
        cells.append((expected, total - sum(cell[1] for cell in cells)))
    return cells
