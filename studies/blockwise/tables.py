"""What is tabulated of drafts and heads: repetition, wins and losses, entropy and its rise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import jackknife_interval
from studies.blockwise.drafts import Drafts
from studies.blockwise.measures import Counts, increasing_heads, longest_runs, repeats
from studies.blockwise.texts import BlockText

BIN = 0.25   # nats, of the entropies' histograms


def _own(text: BlockText) -> NDArray[np.int64]:
    """Returns the first head's token of each block: the text's last before it."""
    return np.concatenate([[text.before[-1]], text.tokens[:-1]])


def repetition(texts: Sequence[BlockText], drafts: Sequence[Drafts]) -> dict[str, float]:
    """Returns Table 3's two columns, over the blocks of all positions."""
    repeated = np.concatenate(
        [repeats(d, _own(text)) for text, d in zip(texts, drafts, strict=True)]
    )
    return {
        "consecutive_percent": 100 * int(repeated.sum()) / repeated.size,
        "max_run": int(longest_runs(repeated).sum()) / len(repeated),
    }


def by_head(lengths: Sequence[Counts], texts: Sequence[BlockText]) -> list[float]:
    """Returns a_j, how often head j = 2..h is right once all before it were, over all blocks."""
    rates = []
    for head in range(texts[0].lattices[0].steps):
        # What would lie beyond the text tells nothing.
        inside = [of[: max(len(of) - head, 0)] for of in lengths]
        reached = sum(int((of >= head).sum()) for of in inside)
        right = sum(int((of > head).sum()) for of in inside)
        rates.append(right / reached if reached else 0.0)
    return rates


def wins(
    texts: Sequence[BlockText],
    base: Sequence[Drafts],
    drafts: Sequence[Drafts],
    lengths: Sequence[Counts],
    base_lengths: Sequence[Counts],
) -> dict[str, float | int | None]:
    """Returns Table 5's columns: blocks that stand further than the heads' own, or less far."""
    own = [_own(text) for text in texts]
    before = np.concatenate([repeats(*pair).any(axis=1) for pair in zip(base, own, strict=True)])
    after = np.concatenate([repeats(*pair).any(axis=1) for pair in zip(drafts, own, strict=True)])
    gain = np.concatenate(lengths) - np.concatenate(base_lengths)
    shares: dict[str, float | int | None] = {"ties": int((gain == 0).sum())}
    for name, these in (("wins", gain > 0), ("losses", gain < 0)):
        count = int(these.sum())
        shares[name] = count
        repaired, regressed = before & ~after & these, ~before & after & these
        shares[f"{name}_repair_percent"] = 100 * int(repaired.sum()) / count if count else None
        shares[f"{name}_regress_percent"] = 100 * int(regressed.sum()) / count if count else None
    return shares


def entropy(texts: Sequence[BlockText], efficiency: NDArray[np.float64]) -> dict[str, Any]:
    """Returns each head's entropies, h_max, and its correlation to block efficiency by text.

    Args:
      texts: with the entropies of all heads.
      efficiency: of the heads' own drafts, by text, shape (texts,).
    """
    entropies = np.concatenate([text.entropy for text in texts])
    by_text = np.array([increasing_heads(text.entropy.mean(axis=0)) for text in texts], float)
    bins = int(entropies.max() / BIN) + 1
    return {
        "entropy": [
            {
                "head": head,
                "mean": float(column.mean()),
                "p5": float(np.percentile(column, 5)),
                "p95": float(np.percentile(column, 95)),
                "shares": [
                    int(count) / len(column)
                    for count in np.bincount((column / BIN).astype(int), minlength=bins)
                ],
            }
            for head, column in enumerate(entropies.T, start=1)
        ],
        "entropy_bin": BIN,
        "h_max": increasing_heads(entropies.mean(axis=0)),
        "h_max_by_text": by_text.astype(int).tolist(),
        "block_efficiency_by_text": efficiency.tolist(),
        "h_max_correlation": correlation(by_text, efficiency),
    }


def correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, float | None]:
    """Returns Pearson's r and its interval on Fisher's scale; null where one does not vary."""
    kept = [np.arange(len(x)) != left for left in range(len(x))]
    if len(x) < 3 or any(np.ptp(x[some]) == 0 or np.ptp(y[some]) == 0 for some in kept):
        return {"value": None, "low": None, "high": None}
    value = float(np.corrcoef(x, y)[0, 1])
    without = [np.corrcoef(x[some], y[some])[0, 1] for some in kept]

    def fisher(r: float, error: float, reach: float) -> tuple[float, float]:
        half = reach * error / max(1 - r * r, 1e-12)
        centre = np.arctanh(min(max(r, -1 + 1e-12), 1 - 1e-12))
        return float(np.tanh(centre - half)), float(np.tanh(centre + half))

    low, high = jackknife_interval(value, without, scale=fisher)
    return {"value": value, "low": low, "high": high}
