"""Compares two profiles or validations of equal prompts, paired by prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from estimator.intervals import difference, jackknife_interval
from estimator.profiles.profile import Profile
from estimator.profiles.profile_file import SCHEMA, read_profile
from estimator.validation.file import Validated, ValidationRow, parse_validation
from reference.reading import read_json

# A value, and its values with each prompt left out, in order; none for a single prompt.
Number = tuple[float, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Difference:
    """One number in two measurements.

    difference: b - a, with its interval over prompts; None for a single prompt.
    """

    number: str
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None

    @property
    def distinguishable(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def paired(name: str, a: Number, b: Number) -> Difference:
    """Returns the difference of a number between two measurements with equal prompts.

    The jackknife is applied to the difference: each prompt is left out of both measurements.
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
Measured = Profile | Validated


@dataclass(frozen=True, slots=True)
class Side:
    """The models and the text of one of the two files."""

    file: str
    target: str
    draft: str
    prompts: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two measurements with equal prompts, and their differences, b minus a."""

    a: Side
    b: Side
    prompts_hash: str
    differences: tuple[Difference, ...]


def compare_files(a: Path, b: Path) -> Comparison:
    """Returns the differences between two profiles, or two validations, with equal prompts.

    Raises ValueError if a file is neither, if kinds or prompts differ, if a file lacks the numbers
    without each prompt, or if the files have no setting in common.
    """
    measured = [read_measured(path) for path in (a, b)]
    first, second = measured
    if isinstance(first, Profile) and isinstance(second, Profile):
        differences = _of_profiles(first, second, (a, b))
    elif isinstance(first, Validated) and isinstance(second, Validated):
        differences = _of_validations(first, second, (a, b))
    else:
        raise ValueError(f"{a} and {b} must be two profiles or two validations, got one of each")
    sides = [_side(each, path) for each, path in zip(measured, (a, b), strict=True)]
    return Comparison(sides[0], sides[1], _hash(first, a), tuple(differences))


def _hash(measured: Measured, path: Path) -> str:
    if isinstance(measured, Profile):
        found = measured.setup.texts.prompts_hash
    else:
        found = measured.rows[0].prompts_hash
    if not found:
        raise ValueError(f"{path} must identify its prompts, got no prompts_hash")
    return found


def _require_same_prompts(measured: Sequence[Measured], paths: tuple[Path, Path]) -> None:
    first, second = (_hash(each, path) for each, path in zip(measured, paths, strict=True))
    if first != second:
        raise ValueError(
            f"{paths[0]} and {paths[1]} must be of the same prompts to be compared, got "
            f"prompts_hash {first} and {second}"
        )


def _side(measured: Measured, path: Path) -> Side:
    if isinstance(measured, Profile):
        alpha, setup = measured.alpha, measured.setup
        return Side(str(path), setup.target, setup.draft, alpha.prompts or 0, alpha.tokens or 0)
    rows = measured.rows
    return Side(
        str(path),
        ", ".join(dict.fromkeys(row.target for row in rows)),
        ", ".join(dict.fromkeys(row.draft for row in rows)),
        max(1, len(rows[0].measured_left_out)),
        sum(row.tokens for row in rows),
    )


def _of_profiles(a: Profile, b: Profile, paths: tuple[Path, Path]) -> list[Difference]:
    _require_same_prompts((a, b), paths)
    before, after = (_numbers(each, path) for each, path in zip((a, b), paths, strict=True))
    found = [paired(name, before[name], after[name]) for name in before if name in after]
    first, second = a.optimal_gamma, b.optimal_gamma
    if first and second and first != second:
        name = f"{_AT_GAMMA}{first} and {second}"
        found.append(paired(name, before[f"{_AT_GAMMA}{first}"], after[f"{_AT_GAMMA}{second}"]))
    return found


def _numbers(profile: Profile, path: Path) -> dict[str, Number]:
    left = profile.left_out
    if left is None:
        raise ValueError(
            f"profile {path} must hold left_out to be compared, got none: measure again"
        )
    numbers: dict[str, Number] = {"alpha": (profile.alpha.value, left.alpha)}
    if profile.c is not None:
        numbers["c"] = profile.c.value, left.c
    return numbers | {
        f"{_AT_GAMMA}{gamma}": (factor.replay, left.improvement_factor[gamma])
        for gamma, factor in sorted(profile.improvement_factor.items())
    }


def _of_validations(a: Validated, b: Validated, paths: tuple[Path, Path]) -> list[Difference]:
    for rows, path in ((a, paths[0]), (b, paths[1])):
        if any(not row.measured_left_out for row in rows.rows):
            raise ValueError(
                f"validation {path} must hold measured_left_out in every row to be compared, got "
                "a row without: engines' rows and rows of a single prompt have none"
            )
    _require_same_prompts((a, b), paths)
    # Each file has one draft, so the drafts are compared.
    single_draft = all(len({row.draft for row in rows.rows}) == 1 for rows in (a, b))
    names = SETTING[1:] if single_draft else SETTING
    before, after = (
        {tuple(getattr(row, name) for name in names): row for row in rows.rows} for rows in (a, b)
    )
    if not before.keys() & after.keys():
        raise ValueError(
            f"{paths[0]} and {paths[1]} must have a setting in common ({', '.join(names)}), got "
            "none"
        )
    return [
        paired(
            _named(row, with_draft=not single_draft),
            (row.measured, row.measured_left_out),
            (after[setting].measured, after[setting].measured_left_out),
        )
        for setting, row in before.items()
        if setting in after
    ]


def _named(row: ValidationRow, *, with_draft: bool) -> str:
    how = row.policy if row.gamma is None else f"gamma {row.gamma}"
    draft = f"{row.draft}, " if with_draft else ""
    return f"speed-up, {draft}temperature {row.temperature:g}, {how}"
