"""Compares two profiles or validations of equal prompts, paired by prompt."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import msgspec
import numpy as np

from estimator.intervals import difference, jackknife_interval, student
from estimator.profiles.best import best_of
from estimator.profiles.profile import Profile
from estimator.profiles.profile_file import SCHEMA, read_profile
from estimator.validation.file import Validated, parse_validation
from reference.files import read_json
from simulator.numerics.intervals import deviations

# Probability with which `prompts_needed` prompts show a difference.
POWER = 0.8
# A value, and the values with each prompt left out, in order; none for a single prompt.
Number = tuple[float, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference b - a between the values of one quantity in two measurements.

    number: the quantity's name, for example "speed-up at gamma 4".
    low, high: ends of the difference's interval; None if the measurements have a single prompt.
    """

    number: str
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None

    @property
    def distinguishable(self) -> bool:
        """Whether 0 lies outside the interval of the difference."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high

    def higher_probability(self, prompts: int) -> float | None:
        """Returns the probability that b's value is above a's; None if there is a single prompt.

        Student's t distribution at n - 1 degrees of freedom, at difference / standard error.

        prompts: n.
        """
        from scipy.special import stdtr

        if self.low is None or self.high is None:
            return None
        error = (self.high - self.low) / 2 / student(prompts - 1)
        if error == 0:
            return 0.5 if self.difference == 0 else float(self.difference > 0)
        return float(stdtr(prompts - 1, self.difference / error))

    def prompts_needed(self, prompts: int) -> int | None:
        """Returns how many prompts would show a difference of this size, with a probability POWER.

        n' = n ((z(0.95) + z(POWER)) · standard error / difference)², where z is the normal quantile
        and the standard error over n prompts falls as 1/√n (Cohen 1988, section 2.4).

        prompts: n. None: the difference is shown already, is 0, or there is a single prompt.
        """
        if self.low is None or self.high is None or self.distinguishable or self.difference == 0:
            return None
        error = (self.high - self.low) / 2 / student(prompts - 1)
        reach = deviations() + NormalDist().inv_cdf(POWER)
        return math.ceil(prompts * (reach * error / self.difference) ** 2)


def paired(name: str, a: Number, b: Number) -> Difference:
    """Returns the difference b - a of a quantity in two measurements with equal prompts.

    a, b: its value, and its values with each prompt left out, for the interval (paired jackknife).
    """
    (value, before), (other, after) = a, b
    if len(before) != len(after):
        raise ValueError(
            f"{name} must be of as many prompts in both, got {len(before)} and {len(after)}"
        )
    without = np.array(after) - np.array(before)
    low, high = jackknife_interval(other - value, without, scale=difference)
    return Difference(name, value, other, other - value, low, high)


def read_measured(path: Path) -> Profile | Validated:
    """Returns the profile or validation in an output file of `specplan measure` or `validate`."""
    document = read_json(path, msgspec.json.decode)
    if isinstance(document, dict) and document.get("schema") == SCHEMA:
        return read_profile(path)
    if isinstance(document, dict) and "rows" in document:
        return parse_validation(document, name=path.name)
    raise ValueError(
        f"{path} must be a profile of 'specplan measure' or the JSON of 'specplan validate', got "
        "another"
    )


# Fields that two rows of validations must share to be compared.
SETTING = ("draft", "temperature", "draft_temperature", "policy", "gamma", "rule")
_AT_GAMMA = "speed-up at gamma "


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two compared files: its models, and its numbers of prompts and tokens.

    command: the command that measured; None: not recorded.
    measured: the device and the day of a profile; "": not recorded.
    gamma, gain_probability: draft length that a profile advises, or 0, and the probability that the
      length is faster than no speculation; None: not known.
    """

    file: str
    target: str
    draft: str
    prompts: int
    tokens: int
    command: str | None = None
    measured: str = ""
    gamma: int | None = None
    gain_probability: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two measurements with equal prompts, and their differences, b minus a."""

    a: Side
    b: Side
    prompts_hash: str
    differences: tuple[Difference, ...]


# The numbers of a file, by a name for people and further settings.
Numbers = dict[tuple[Any, ...], Number]


def compare(
    measured: tuple[Profile | Validated, Profile | Validated], files: tuple[Path, Path]
) -> Comparison:
    """Returns the differences between two profiles, or two validations, with equal prompts.

    Refuses a profile with a validation, files with different prompts, validations without rows of
    equal settings, and a file that lacks the numbers computed with each prompt left out.
    """
    a, b = files
    profiles = [file for file in measured if isinstance(file, Profile)]
    validations = [file for file in measured if isinstance(file, Validated)]
    if profiles and validations:
        raise ValueError(f"{a} and {b} must be two profiles or two validations, got one of each")
    # Where each file has one draft, the drafts are compared.
    by_draft = any(len({row.draft for row in validation.rows}) > 1 for validation in validations)
    names = SETTING if by_draft else SETTING[1:]
    (left, prompts, before), (right, others, after) = (
        _of_profile(document, path)
        if isinstance(document, Profile)
        else _of_rows(document, path, names)
        for document, path in zip(measured, files, strict=True)
    )
    for path, identified in ((a, prompts), (b, others)):
        if not identified:
            raise ValueError(f"{path} must identify its prompts, got no prompts_hash")
    if prompts != others:
        raise ValueError(
            f"{a} and {b} must be of the same prompts to be compared, got prompts_hash "
            f"{prompts} and {others}"
        )
    common = [setting for setting in before if setting in after]
    if not common:
        raise ValueError(
            f"{a} and {b} must have a setting in common ({', '.join(names)}), got none"
        )
    differences = [paired(setting[0], before[setting], after[setting]) for setting in common]
    if profiles:
        first, second = (profile.optimal_gamma for profile in profiles)
        if first and second and first != second:
            at, other = before[(f"{_AT_GAMMA}{first}",)], after[(f"{_AT_GAMMA}{second}",)]
            differences.append(paired(f"{_AT_GAMMA}{first} and {second}", at, other))
    return Comparison(left, right, prompts, tuple(differences))


def _of_profile(profile: Profile, path: Path) -> tuple[Side, str, Numbers]:
    """Returns a profile's `Side`, the hash of its prompts, and the numbers to compare, by name."""
    alpha, setup, left = profile.alpha, profile.setup, profile.left_out
    if left is None:
        raise ValueError(
            f"profile {path} must hold left_out to be compared, got none: measure again"
        )
    numbers: Numbers = {("alpha",): (alpha.value, left.alpha)}
    if profile.c is not None:
        numbers[("c",)] = profile.c.value, left.c
    numbers |= {
        (f"{_AT_GAMMA}{gamma}",): (factor.replay, left.improvement_factor[gamma])
        for gamma, factor in sorted(profile.improvement_factor.items())
    }
    counts, command = (alpha.prompts or 0, alpha.tokens or 0), setup.software.command
    side = Side(str(path), setup.target, setup.draft, *counts, command, setup.recorded)
    if (best := best_of(profile)) is not None:
        advice = best.plan.advice
        side = replace(side, gamma=advice.gamma, gain_probability=advice.gain_probability)
    return side, setup.texts.prompts_hash or "", numbers


def _of_rows(validated: Validated, path: Path, names: Sequence[str]) -> tuple[Side, str, Numbers]:
    """Returns a validation's `Side`, the hash of its prompts, and the numbers to compare, by name.

    names: fields of rows that must be equal for two rows to be compared.
    """
    rows = validated.rows
    if any(not row.measured_left_out for row in rows):
        raise ValueError(
            f"validation {path} must hold measured_left_out in every row to be compared, got "
            "a row without: engines' rows and rows of a single prompt have none"
        )
    numbers: Numbers = {}
    for row in rows:
        how = row.policy if row.gamma is None else f"gamma {row.gamma}"
        draft = f"{row.draft}, " if "draft" in names else ""
        shown = f"speed-up, {draft}temperature {row.temperature:g}, {how}"
        setting = (shown, *(getattr(row, name) for name in names))
        numbers[setting] = row.measured, row.measured_left_out
    side = Side(
        str(path),
        ", ".join(dict.fromkeys(row.target for row in rows)),
        ", ".join(dict.fromkeys(row.draft for row in rows)),
        max(1, len(rows[0].measured_left_out)),
        sum(row.tokens for row in rows),
        validated.command,
    )
    return side, rows[0].prompts_hash, numbers
