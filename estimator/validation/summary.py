"""How good the predictions of a validation are, in a few numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from estimator.validation.validation import Validation


@dataclass(frozen=True, slots=True)
class Summary:
    """Of all rows together; the worst of several pairs.

    mean_abs_error_percent, max_abs_error_percent: of the speed-ups; None where none was predicted.
    noise_percent, noise_within_percent, quiet: of the baseline against itself.
    precision_percent: how far the clock lets speed-ups be off; None of a single prompt.
    repeats: how often each run was timed, at least.
    threads: that computed; free_cores: before the run, None where their number was asked for.
    """

    mean_abs_error_percent: float | None
    max_abs_error_percent: float | None
    noise_percent: float
    noise_within_percent: float
    quiet: bool
    precision_percent: float | None
    repeats: int
    threads: int | None
    free_cores: float | None


def summary(validations: Sequence[Validation]) -> Summary:
    """Returns what all rows of validations, at least one, come to."""
    errors = [row.error_percent for validation in validations for row in validation.rows]
    noises = [validation.noise for validation in validations]
    precisions = [validation.precision_percent for validation in validations]
    known = [percent for percent in precisions if percent is not None]
    threads = validations[0].threads
    return Summary(
        mean_abs_error_percent=mean_abs(errors),
        max_abs_error_percent=max_abs(errors),
        noise_percent=max(noise.percent for noise in noises),
        noise_within_percent=max(noise.within_percent for noise in noises),
        quiet=all(noise.quiet for noise in noises),
        precision_percent=None if len(known) < len(validations) else max(known),
        repeats=min(validation.repeats for validation in validations),
        threads=None if threads is None else threads.count,
        free_cores=None if threads is None else threads.free,
    )


def mean_abs(errors: Iterable[float | None]) -> float | None:
    """Returns the mean size of the errors that are known; None where none is."""
    sizes = [abs(error) for error in errors if error is not None]
    return sum(sizes) / len(sizes) if sizes else None


def max_abs(errors: Iterable[float | None]) -> float | None:
    """Returns the largest size of the errors that are known; None where none is."""
    return max((abs(error) for error in errors if error is not None), default=None)
