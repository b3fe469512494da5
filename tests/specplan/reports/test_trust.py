"""The advice of a validation: how far to trust plans, and which K to run."""

from math import log, sqrt

import pytest
from scipy.special import stdtr

from estimator.validation.file import ValidationRow
from simulator.choice.odds import percentage
from specplan.reports.trust import noise_line, trust_lines


def row(gamma: int, predicted: float | None, measured: float, **fields: object) -> ValidationRow:
    known = {"draft": "d", "temperature": 0.0, "tokens": 100, **fields}
    return ValidationRow(gamma=gamma, predicted=predicted, measured=measured, **known)


@pytest.mark.parametrize(
    ("rows", "summary", "words"),
    [
        ([row(2, 1.47, 1.5)], {"precision_percent": 2.5},
         "Trust plans of this target and draft within 2.5 % on the same prompts: predicted "
         "speed-ups were 2.0 % off on average, 2.0 % at most, and the timing noise is ± 2.5 %."),
        ([row(2, 1.2, 1.5), row(4, 1.5, 1.5)], {"precision_percent": 2.5},
         "Trust plans of this target and draft within 20.0 % on the same prompts: predicted "
         "speed-ups were 10.0 % off on average, 20.0 % at most, more than the timing noise of "
         "± 2.5 %: run a K before you rely on it."),
        ([row(2, 1.5, 1.5)], {}, "Timing noise is not known: repeat the runs to learn it."),
        ([row(2, 1.5, 1.5)], {"quiet": False, "precision_percent": 9.0}, "Measure again"),
        ([row(2, 1.5, 1.5, doubts=("impossible",))], {}, "Measure again on a quiet machine"),
        ([row(2, None, 1.5)], {}, "No speed-up was predicted: take the measured ones."),
    ],
)  # fmt: skip
def test_plans_are_trusted_within_the_larger_of_error_and_noise(
    rows: list[ValidationRow], summary: dict[str, object], words: str
) -> None:
    assert words in trust_lines(rows, summary)[-1]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row(2, 1.6, 1.5), row(4, 1.5, 1.4)],
         "Run K = 2, which was predicted to be fastest and was: 1.50 times the speed without "
         "speculation."),
        ([row(2, 1.4, 1.5), row(4, 1.5, 1.4)],
         "K = 4, which was predicted to be fastest, is 7.1 % slower."),
        ([row(2, 1.4, 1.5), row(4, 1.5, 1.49)], "is 0.7 % slower, less than the timing noise: take "
         "either."),
        ([row(2, 1.4, 0.9)], "Do not speculate: the fastest, K = 2, ran at 0.90 times"),
        ([row(2, None, 1.5)], "Run K = 2: 1.50 times"),
        ([row(2, 1.5, 1.5), row(2, 1.7, 1.7, temperature=1.0)], "K = 2 of d at temperature 1"),
    ],
)  # fmt: skip
def test_the_k_to_run_is_the_fastest_measured_one(rows: list[ValidationRow], words: str) -> None:
    assert words in trust_lines(rows, {"precision_percent": 1.0})[0]


def test_the_odds_of_the_fastest_k_pair_the_prompts() -> None:
    """Both rows move together from prompt to prompt, so that their difference is sure."""
    slow, fast = (1.2, 1.3, 1.4, 1.5), (1.3, 1.4, 1.52, 1.63)
    rows = [row(2, 1.35, 1.35, measured_left_out=slow), row(4, 1.46, 1.46, measured_left_out=fast)]
    other = row(8, 1.4, 1.4, measured_left_out=fast, doubts=("impossible",))
    said = trust_lines([*rows, other], {})[1]
    apart = [log(b / a) for a, b in zip(slow, fast, strict=True)]
    mean = sum(apart) / 4
    error = sqrt(3 / 4 * sum((value - mean) ** 2 for value in apart))
    chance = float(stdtr(3, log(1.46 / 1.35) / error))
    assert 0.95 < chance < 1
    gain = percentage(float(stdtr(3, _steps(1.46, fast))))
    assert said == (
        f"A gain over no speculation is almost certain ({gain}). K = 4 is faster than K = 2, the "
        f"next best, with a probability of {percentage(chance)} (1.46 against 1.35 "
        "times; the 4 prompts are paired)."
    )


def _steps(value: float, without: tuple[float, ...]) -> float:
    """Returns the logarithm of a speed-up over its jackknife standard error."""
    logs = [log(other) for other in without]
    mean = sum(logs) / len(logs)
    return log(value) / sqrt(3 / 4 * sum((other - mean) ** 2 for other in logs))


def test_no_odds_are_said_of_a_single_prompt() -> None:
    rows = [row(2, 1.4, 1.4), row(4, 1.5, 1.5)]
    assert not [line for line in trust_lines(rows, {}) if "probability" in line]


def test_the_clocks_noise_is_said_where_it_is_known() -> None:
    assert noise_line({}) == []
    known = {"precision_percent": 2.46, "noise_percent": 0.8, "noise_within_percent": 1.1}
    assert noise_line(known) == [
        "Timing noise: ± 2.5 % (90 %) in the noisiest row; the baseline timed twice differs by "
        "0.8 % (90 %: at most 1.1 %). --time-limit and --repeats allow more timing."
    ]
