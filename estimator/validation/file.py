"""The JSON file of a validation by any decoder: its rows and a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from estimator.validation.row import ValidationRow
from reference.reading import read_json

SPECULATIVE: Final = "speculative"
BILD: Final = "bild"
ENGINE: Final = "engine"

# What earlier versions wrote in place of the names that all decoders share.
FORMER_NAMES = {
    "predicted": "predicted_calibrated",
    "measured": "speedup",
    "measured_low": "speedup_low",
    "measured_high": "speedup_high",
}
SECONDS_PER_TOKEN = ("seconds", "seconds_per_token")

RowKind = TypeVar("RowKind", bound=ValidationRow)


class Validated(msgspec.Struct, frozen=True):
    """The fields common to all validation files.

    decoder: SPECULATIVE, BILD or ENGINE.
    rows: at least one.
    """

    name: str
    decoder: str
    rows: tuple[ValidationRow, ...]


def validation_json(decoder: str, rows: Sequence[ValidationRow], **sections: Any) -> dict[str, Any]:
    """Returns the object that `specplan validate --json` prints: rows and further sections."""
    return {"decoder": decoder, "rows": [row.data() for row in rows], **sections}


def read_validation(path: Path) -> Validated:
    """Returns the validation that `specplan validate --json` printed into a file."""
    return parse_validation(read_json(path, msgspec.json.decode), name=path.name)


def parse_validation(document: Any, *, name: str) -> Validated:
    """Returns a validation from the object that `validation_json` made, now or in the past.

    Raises:
      ValueError: if it has no rows, or if a row lacks a field or has an invalid one.
    """
    rows = document.get("rows") if isinstance(document, Mapping) else None
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"{name} has no rows: it is not the output of validate --json")
    parsed = parse_rows(rows, ValidationRow, name=name)
    decoder = document.get("decoder")
    if decoder is None:
        decoder = ENGINE if "engine" in rows[0] else SPECULATIVE
    return Validated(name, str(decoder), parsed)


def parse_rows(rows: Sequence[Any], kind: type[RowKind], *, name: str) -> tuple[RowKind, ...]:
    """Returns rows from their JSON.

    Args:
      rows: objects with the fields of a row's `data`, or with those of an earlier version.

    Raises:
      ValueError: if a row lacks a field or has an invalid one.
    """
    parsed = []
    for number, row in enumerate(rows):
        try:
            parsed.append(msgspec.convert(_renamed(row), kind))
        except msgspec.ValidationError as error:
            raise ValueError(f"row {number} of {name} is no row of a validation: {error}") from None
    return tuple(parsed)


def _renamed(row: Any) -> Any:
    if not isinstance(row, Mapping):
        return row
    shared = {name: row[old] for name, old in FORMER_NAMES.items() if old in row}
    for name in SECONDS_PER_TOKEN:
        if isinstance(row.get(name), float):
            shared["ms_per_token"] = 1e3 * row[name]
    return shared | dict(row)
