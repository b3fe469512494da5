"""The files that a page is made of: profiles and validations, told apart by what they hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from estimator.profiles.profile import SCHEMA, Profile
from estimator.profiles.profile_file import read_profile
from figures.drawing.results import Results, parse_results, short_name


@dataclass(frozen=True, slots=True)
class Named:
    """A profile and what the page calls it: its draft, and its file where drafts share a name."""

    name: str
    file: str
    profile: Profile


@dataclass(frozen=True, slots=True)
class Inputs:
    """Profiles, at least one, and validations, each in the order given."""

    profiles: tuple[Named, ...]
    validations: tuple[Results, ...]


def read_inputs(paths: Sequence[Path]) -> Inputs:
    """Returns what the files hold.

    Raises:
      OSError: if a file cannot be read.
      ValueError: if a file is neither, is of another schema version, or none is a profile.
    """
    profiles: list[tuple[Path, Profile]] = []
    validations = []
    for path in paths:
        try:
            document = json.loads(path.read_bytes())
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} must be JSON, got: {error}") from None
        if isinstance(document, dict) and document.get("schema") == SCHEMA:
            profiles.append((path, read_profile(path)))
        elif isinstance(document, dict) and "rows" in document:
            validations.append(parse_results(document, name=path.name))
        else:
            raise ValueError(
                f"{path} must be a profile of 'specplan measure' or the JSON of 'specplan "
                "validate', got another"
            )
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
    )
