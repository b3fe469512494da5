"""The files of a page: profiles, validations, answers of `traffic`, told apart by content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from estimator.comparison.files import read_measured
from estimator.profiles.profile import Profile
from estimator.validation.file import Validated
from figures.drawing.short_name import short_name
from specplan.reports.page.traffic import TrafficFile, read_traffic


@dataclass(frozen=True, slots=True)
class Named:
    """A profile and what the page calls it: its draft, and its file where drafts share a name."""

    name: str
    file: str
    profile: Profile


@dataclass(frozen=True, slots=True)
class Inputs:
    """Profiles, at least one, validations, and what `traffic` found, each in the order given."""

    profiles: tuple[Named, ...]
    validations: tuple[Validated, ...]
    traffic: tuple[TrafficFile, ...] = ()


def read_inputs(paths: Sequence[Path]) -> Inputs:
    """Returns what the files hold.

    Raises:
      OSError: if a file cannot be read.
      ValueError: if a file is none of these, is of another schema version, or none is a profile.
    """
    profiles: list[tuple[Path, Profile]] = []
    validations: list[Validated] = []
    traffic: list[TrafficFile] = []
    for path in paths:
        served = read_traffic(path)
        if served is not None:
            traffic.append(served)
            continue
        measured = read_measured(path)
        if isinstance(measured, Profile):
            profiles.append((path, measured))
        else:
            validations.append(measured)
    if not profiles:
        given = ", ".join(str(path) for path in paths)
        raise ValueError(f"a report must have at least one profile, got {given}")
    drafts = [short_name(profile.setup.draft) for _, profile in profiles]
    return Inputs(
        tuple(
            Named(
                draft if drafts.count(draft) == 1 else f"{draft} ({path.name})", path.name, profile
            )
            for draft, (path, profile) in zip(drafts, profiles, strict=True)
        ),
        tuple(validations),
        tuple(traffic),
    )
