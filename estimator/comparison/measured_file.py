"""A file of measurements: a profile or a validation, told apart by what it holds."""

from __future__ import annotations

from pathlib import Path

import msgspec

from estimator.profiles.profile import SCHEMA, Profile
from estimator.profiles.profile_file import read_profile
from estimator.validation.file import Validated, parse_validation


def read_measured(path: Path) -> Profile | Validated:
    """Returns what `specplan measure` wrote, or what `specplan validate --json` printed.

    Raises:
      OSError: if the file cannot be read.
      ValueError: if it is neither, or one of its fields does not fit.
    """
    try:
        document = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be JSON, got: {error}") from None
    if isinstance(document, dict) and document.get("schema") == SCHEMA:
        return read_profile(path)
    if isinstance(document, dict) and "rows" in document:
        return parse_validation(document, name=path.name)
    raise ValueError(
        f"{path} must be a profile of 'specplan measure' or the JSON of 'specplan validate', got "
        "another"
    )
