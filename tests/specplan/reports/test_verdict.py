"""The verdict of a comparison: words for differences and for their doubt."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import stdtr

from estimator.comparison import POWER, Difference
from estimator.intervals import student
from specplan.reports.verdict import verdict

ALPHA = Difference("alpha", 0.64, 0.71, 0.07, 0.05, 0.09)
FASTER = Difference("speed-up at gamma 4", 2.0, 2.12, 0.12, 0.02, 0.2)
SLOWER = Difference("speed-up at gamma 8", 1.9, 1.5, -0.4, -0.9, 0.1)
TIMES = "times without speculation"
IN_MOST = "in 80 % of comparisons; these files have 8"
A_NOW = (
    "Take A at K = 8 (1.90 times the speed without speculation) for now: it is faster than B at "
    "K = 8 (1.50 times) with a probability of 91 %, and 8 prompts do not decide it."
)


@pytest.mark.parametrize(
    ("differences", "words"),
    [
        ((ALPHA, FASTER, SLOWER), f"Take B: B is 6 % faster at K = 4 (2.12 against 2.00 {TIMES}), "
         "almost certain (98 %). B accepts more (0.71 against 0.64), almost certain (over 99 %)."),
        ((ALPHA, SLOWER), f"{A_NOW} B accepts more "
         "(0.71 against 0.64), almost certain (over 99 %). About 22 prompts would decide "
         f"speed, {IN_MOST}."),
        ((Difference("alpha", 0.71, 0.55, -0.16, -0.37, 0.04), SLOWER),
         f"{A_NOW} B accepts less (0.55 against 0.71) with a probability of "
         "91 %; 95 % would decide. About 23 prompts would decide acceptance, about 22 "
         "speed, in 80 % of comparisons; these files have 8."),
        ((Difference("alpha", 0.71, 0.55, -0.16, -0.37, 0.04), FASTER),
         f"Take B: B is 6 % faster at K = 4 (2.12 against 2.00 {TIMES}), almost certain (98 %). "
         "B accepts less (0.55 against 0.71) with a probability of 91 %; 95 % would decide. About "
         "23 prompts would decide acceptance, in 80 % of comparisons; these files have 8."),
        ((Difference("alpha", 0.6, 0.6, 0.0, None, None),),
         "B accepts as much (0.60 against 0.60), of one prompt: no interval."),
        ((Difference("speed-up at gamma 4", 2.0, 2.12, 0.12, None, None),),
         f"B is 6 % faster at K = 4 (2.12 against 2.00 {TIMES}), of one prompt: no interval."),
        ((Difference("speed-up, temperature 0, gamma 2", 1.0, 1.001, 0.001, -1, 1),),
         "Take B at temperature 0, K = 2 (1.00 times the speed without speculation) for now: it is "
         "faster than A at temperature 0, K = 2 (1.00 times) with a probability of 50 %, and 8 "
         f"prompts do not decide it. Over 10,000 prompts would decide speed, {IN_MOST}."),
        ((Difference("speed-up at gamma 3 and 4", 1.6, 2.12, 0.52, -0.2, 1.3),),
         "Take B with K = 4 (2.12 times the speed without speculation) for now: it is faster than "
         "A with K = 3 (1.60 times) with a probability of 88 %, and 8 prompts do not decide it. "
         f"About 29 prompts would decide speed, {IN_MOST}."),
        ((FASTER, Difference("speed-up at gamma 3 and 4", 1.6, 2.12, 0.52, 0.2, 0.9)),
         f"Take B: B is 32 % faster at its own best K, 4 against 3 (2.12 against 1.60 {TIMES}), "
         "almost certain (99 %)."),
        ((FASTER, Difference("speed-up at gamma 3 and 4", 2.12, 1.6, -0.52, -0.9, -0.2)),
         f"Take A: B is 25 % slower at its own best K, 4 against 3 (1.60 against 2.12 {TIMES}), "
         "almost certain (99 %)."),
        ((Difference("c", 0.1, 0.2, 0.1, 0.05, 0.15),),
         "Neither acceptance nor a speed-up is in both files."),
    ],
)  # fmt: skip
def test_a_verdict_names_differences_and_their_odds(
    differences: tuple[Difference, ...], words: str
) -> None:
    assert verdict(differences, 8) == words


def test_a_verdict_names_its_sides() -> None:
    slower = replace(FASTER, a=2.12, b=2.0, difference=-0.12, low=-0.2, high=-0.02)
    assert verdict([slower], 8, "head", "lookup").startswith("Take head: lookup is 6 % slower at")
    assert verdict([ALPHA], 8, "head", "lookup").startswith("lookup accepts more")


def test_so_many_prompts_show_a_difference_in_four_of_five_comparisons() -> None:
    # Differences by prompt: mean 1, standard deviation 3; known to its standard error at n = 40.
    half = 3 / np.sqrt(40) * student(39)
    needed = Difference("alpha", 0.0, 1.0, 1.0, 1 - half, 1 + half).prompts_needed(40)
    assert needed is None  # shown already
    known = Difference("alpha", 0.0, 0.5, 0.5, 0.5 - half, 0.5 + half)
    needed = known.prompts_needed(40)
    assert needed is not None
    runs = np.random.default_rng(0).normal(0.5, 3, (4000, needed))
    errors = runs.std(axis=1, ddof=1) / np.sqrt(needed)
    shown = runs.mean(axis=1) > student(needed - 1) * errors
    # Standard error of the share: 0.006; false alarms: one in 1,000.
    assert shown.mean() == pytest.approx(POWER, abs=0.02)


@pytest.mark.parametrize(("low", "high"), [(-0.4, 0.6), (-0.1, 0.3)])
def test_an_interval_that_ends_at_zero_is_95_per_cent_of_a_sign(low: float, high: float) -> None:
    middle, half = (low + high) / 2, (high - low) / 2
    at = Difference("alpha", 0.5, 0.5 + half, half, 0.0, 2 * half).higher_probability(8)
    assert at == pytest.approx(0.95)  # the 90 % interval leaves 5 % on each side
    value = Difference("alpha", 0.5, 0.5 + middle, middle, low, high).higher_probability(8)
    assert value == pytest.approx(stdtr(7, middle / (half / student(7))))
    other = Difference("alpha", 0.5, 0.5 - middle, -middle, -high, -low).higher_probability(8)
    assert value + other == pytest.approx(1.0)
    assert Difference("alpha", 0.5, 0.6, 0.1, None, None).higher_probability(1) is None
    assert Difference("alpha", 0.5, 0.5, 0.0, 0.0, 0.0).higher_probability(8) == 0.5


def test_one_prompt_or_no_difference_needs_no_number() -> None:
    assert Difference("alpha", 0.6, 0.7, 0.1, None, None).prompts_needed(1) is None
    assert Difference("alpha", 0.6, 0.6, 0.0, -0.1, 0.1).prompts_needed(8) is None
