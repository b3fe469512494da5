"""The verdicts of block verification, in plain Python."""

from collections.abc import Sequence

from tests.reference.enumeration import Rows


def beginnings(p: Rows, q: Rows, tokens: Sequence[int]) -> list[float]:
    """Eq. 4 of Sun et al. 2024, term by term: h_1, ..., h_gamma."""
    kept, chances = 1.0, []
    for place, token in enumerate(tokens):
        kept = min(kept * p[place][token] / q[place][token], 1.0)
        if place + 1 == len(tokens):
            chances.append(kept)
            break
        following = zip(p[place + 1], q[place + 1], strict=True)
        left = sum(max(kept * x - y, 0.0) for x, y in following)
        among = left + 1 - kept
        chances.append(left / among if among > 1e-12 else 1.0)
    return chances
