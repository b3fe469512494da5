"""Prior distribution of acceptance rates by position, for each kind of draft.

`benchmarks/published_lengths.py --fit` writes rate_priors.json from published lengths.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FILE = Path(__file__).with_name("rate_priors.json")
# Kinds whose acceptance does not fall with the position: their drafts may be doubled.
_STEADY = ("model", "n-gram")


@dataclass(frozen=True, slots=True)
class RatePrior:
    """Normal prior of the logits of the rates r_i, each given that earlier positions are accepted.

        logit r_i = a + b · log i + w(log i) + u_i

    first, change: means of a and b.
    covariance: covariance of a and b, shape (2, 2).
    walk: standard deviation of w at log i = 1; w is a Brownian motion that starts at i = 1.
    own: standard deviation of each u_i.
    """

    first: float
    change: float
    covariance: NDArray[np.float64]
    walk: float
    own: float

    def law(self, longest: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns mean and covariance of the first logits: (longest,) and (longest, longest)."""
        place = np.log(np.arange(1, longest + 1))
        line = np.stack([np.ones(longest), place], axis=1)
        walked = self.walk**2 * np.minimum(place[:, None], place)
        own = self.own**2 * np.eye(longest)
        return self.first + self.change * place, line @ self.covariance @ line.T + walked + own


def rate_prior(kind: str | None, *, fitted: dict[str, Any] | None = None) -> RatePrior:
    """Returns the prior of a kind of draft.

    Args:
      kind: a name of `simulator.cost.fitted.prior.DRAFTS`; otherwise the prior of all kinds.
      fitted: priors by kind, "all" included; None: the priors of the package.
    """
    known = _published() if fitted is None else fitted
    found = known["kinds"].get(kind, known["kinds"]["all"])
    covariance = np.array(found["covariance"])
    return RatePrior(found["first"], found["change"], covariance, found["walk"], found["own"])


def workload_spread() -> float:
    """Returns the standard deviation of a draft's logits between published workloads."""
    return float(_published()["workloads"])


def most_gamma(kind: str | None, observed: int) -> int:
    """Returns the largest γ that may be advised if drafts were observed up to γ `observed`.

    It is `observed` + 2; for draft models and copies it is 2 · `observed` where that is larger.
    """
    return max(observed + 2, 2 * observed if kind in _STEADY else 0)


@cache
def _published() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_FILE.read_text("utf-8"))
    return found
