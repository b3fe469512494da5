"""How answers are given, as options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Printed:
    """Printed, for people or as JSON."""

    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """Printed, and written as JSON into a file.

    output: the file; None: none.
    """

    output: Path | None = None
    as_json: bool = False
