"""Chi-squared tests of counted outcomes against their exact law."""

from collections import Counter
from collections.abc import Hashable, Mapping

from scipy.stats import chi2

# Odds that a correct sampler fails one test. Seeds are fixed, so a test that passes stays so; the
# odds say how unlikely it was that a seed had to be changed.
FALSE_ALARM = 1e-6
LEAST_EXPECTED = 5.0


def require_law(counts: Counter[Hashable], law: Mapping[Hashable, float]) -> None:
    """Fails if counts are too unlikely under law, or hold something that it excludes.

    Outcomes expected fewer than five times are counted together.
    """
    total = sum(counts.values())
    assert counts.keys() <= {outcome for outcome, mass in law.items() if mass > 0}
    expected, seen = [], []
    rare_expected = rare_seen = 0.0
    for outcome, mass in law.items():
        if total * mass < LEAST_EXPECTED:
            rare_expected += total * mass
            rare_seen += counts[outcome]
        else:
            expected.append(total * mass)
            seen.append(counts[outcome])
    if rare_expected >= LEAST_EXPECTED:
        expected.append(rare_expected)
        seen.append(rare_seen)
    statistic = sum((o - e) ** 2 / e for o, e in zip(seen, expected, strict=True))
    if len(expected) > 1:
        assert statistic < chi2.isf(FALSE_ALARM, len(expected) - 1)
