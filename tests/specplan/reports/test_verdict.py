"""The verdict of a comparison: words for differences and for their doubt."""

import pytest

from estimator.comparison import Difference
from specplan.reports.verdict import verdict

ALPHA = Difference("alpha", 0.64, 0.71, 0.07, 0.05, 0.09)
FASTER = Difference("speed-up at gamma 4", 2.0, 2.12, 0.12, 0.02, 0.2)
SLOWER = Difference("speed-up at gamma 8", 1.9, 1.5, -0.4, -0.5, 0.1)
TIMES = "times without speculation"


@pytest.mark.parametrize(
    ("differences", "words"),
    [
        ((ALPHA, FASTER, SLOWER), "B accepts more (0.71 against 0.64), is 6 % faster at K = 4 "
         f"(2.12 against 2.00 {TIMES}), almost certain."),
        ((ALPHA, SLOWER), "B accepts more (0.71 against 0.64), almost certain. These prompts do "
         f"not show whether it is faster or slower at K = 8 (1.50 against 1.90 {TIMES})."),
        ((Difference("alpha", 0.71, 0.55, -0.16, -0.37, 0.04), SLOWER),
         "These prompts do not show whether B accepts more or less (0.55 against 0.71), or whether "
         f"it is faster or slower at K = 8 (1.50 against 1.90 {TIMES})."),
        ((Difference("alpha", 0.6, 0.6, 0.0, None, None),),
         "B accepts as much (0.60 against 0.60), of one prompt: no interval."),
        ((Difference("speed-up, temperature 0, gamma 2", 1.0, 1.001, 0.001, -1, 1),),
         "These prompts do not show whether B is faster or slower at temperature 0, K = 2 (1.00 "
         f"against 1.00 {TIMES})."),
        ((Difference("c", 0.1, 0.2, 0.1, 0.05, 0.15),),
         "Neither acceptance nor a speed-up is in both files."),
    ],
)  # fmt: skip
def test_a_verdict_names_differences_and_their_odds(
    differences: tuple[Difference, ...], words: str
) -> None:
    assert verdict(differences) == words
