"""A stopping rule: the confidence that a draft needs to go on."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.numerics.arguments import probability

# The columns of recorded confidences: the largest probability, the same over the ten likeliest
# tokens, and the probability of the token itself.
Confidence = Literal["largest", "largest of ten", "own", "matched tokens"]
COLUMNS: dict[Confidence, int] = {"largest": 0, "largest of ten": 1, "own": 2}


class StoppingRule(NamedTuple):
    """A rule by which an engine ends a draft whose confidence is too low.

    A rule is lossless if it reads only the distribution before the draw, or if it keeps the token
    that fails. A rule that drops a drawn token because of the token's own probability changes the
    output.

    name: as on the command line.
    confidence: the number that is compared with the threshold.
    keeps: whether the failing token is verified. The draft step of a dropped token takes time, too.
    builds: the engine builds that apply the rule.
    source: file and lines of the engine's source.
    product: whether the product of all confidences of the block is compared.
    option: the engine's own option; empty if it has none.
    calibrated: whether confidences are calibrated on other texts before they are compared.

    Example of a rule that drops the failing token:
      >>> rule = StoppingRule("least", "largest", keeps=False, builds="all", source="none")
      >>> verified, paid = rule.lengths(np.array([[0.9, 0.4, 0.9]]), 0.5)
      >>> verified.tolist(), paid.tolist()
      ([1], [2])
    """

    name: str
    confidence: Confidence
    keeps: bool
    builds: str
    source: str
    product: bool = False
    option: str = ""
    calibrated: bool = False

    @property
    def column(self) -> int:
        """The column of the recorded confidences that the rule reads."""
        return COLUMNS[self.confidence]

    def lengths(
        self, sure: NDArray[np.floating], threshold: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns how many tokens of each draft are verified, and how many draft steps it takes.

        sure: confidences of the drafted tokens, in [0, 1], shape (..., L).
        threshold: smallest confidence with which a draft goes on, in [0, 1]; 0 never stops.

        Returns two arrays of shape (...), each value from 0 to L.
        """
        least = float(probability("p_min", threshold))
        values = sure.cumprod(axis=-1) if self.product else sure
        # In the precision in which confidences were recorded, as engines compare.
        fails = values < values.dtype.type(least)
        longest = sure.shape[-1]
        first = np.where(fails.any(axis=-1), fails.argmax(axis=-1), longest)
        paid = np.minimum(first + 1, longest)
        return (paid if self.keeps else first), paid


_RULES = (
    StoppingRule(
        "llama.cpp", "largest of ten", keeps=False, option="--spec-draft-p-min",
        builds="since pull request 22506 (April 2026)",
        source="common/speculative.cpp: the draft's sampler has top_k = 10; a token is not added "
        "where cur_p->data[0].p < p_min",
    ),
    StoppingRule(
        "llama.cpp-older", "largest of ten", keeps=True, option="--draft-p-min",
        builds="from November 2024 (default 0.75) to pull request 22506 (April 2026)",
        source="common/speculative.cpp: the token is added, then drafting ends where "
        "cur_p->data[0].p < p_min",
    ),
    StoppingRule(
        "transformers", "own", keeps=True, option="assistant_confidence_threshold",
        builds="since 4.46 (default 0.4); specplan's own --policy confidence:P is the same rule",
        source="generation/stopping_criteria.py, ConfidenceCriteria: softmax of all scores",
    ),
    StoppingRule(
        "product", "own", keeps=True, product=True, source="reference/policies.py",
        builds="specplan's own decoder, --policy product:P",
    ),
    StoppingRule(
        "calibrated", "largest", keeps=True, product=True, calibrated=True,
        builds="in no engine yet, with confidences calibrated on other texts",
        source="estimator/traces/calibration.py",
    ),
)  # fmt: skip
RULES = {rule.name: rule for rule in _RULES}
# The rule of lookups, whose threshold is a number of matched tokens and not a probability.
MATCH = StoppingRule(
    "match", "matched tokens", keeps=False, builds="lookups", source="ngram/copies/texts.py"
)
