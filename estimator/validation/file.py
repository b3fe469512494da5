"""The JSON file of a validation by any decoder: its rows and a summary."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from estimator.profiles.parts import Level
from estimator.validation.row import ValidationRow
from reference.reading import read_json
from simulator.numerics.intervals import CONFIDENCE, FORMER_CONFIDENCE

SPECULATIVE: Final = "speculative"
BILD: Final = "bild"
ENGINE: Final = "engine"

RowKind = TypeVar("RowKind", bound=ValidationRow)


class Validated(msgspec.Struct, frozen=True):
    """The fields common to all validation files.

    decoder: SPECULATIVE, BILD or ENGINE.
    confidence: level of the intervals.
    rows: at least one.
    """

    name: str
    decoder: str
    rows: tuple[ValidationRow, ...]
    confidence: float = CONFIDENCE


def validation_json(decoder: str, rows: Sequence[ValidationRow], **sections: Any) -> dict[str, Any]:
    """Returns the object that `specplan validate --json` prints: rows and further sections."""
    found = [row.data() for row in rows]
    return {"decoder": decoder, "confidence": CONFIDENCE, "rows": found, **sections}


def read_validation(path: Path) -> Validated:
    """Returns the validation that `specplan validate --json` printed into a file."""
    return parse_validation(read_json(path, msgspec.json.decode), name=path.name)


def parse_validation(document: Any, *, name: str) -> Validated:
    """Returns a validation from the object that `validation_json` made; refuses other ones."""
    rows = document.get("rows") if isinstance(document, Mapping) else None
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"{name} has no rows: it is not the output of validate --json")
    try:
        level = msgspec.convert(document.get("confidence", FORMER_CONFIDENCE), Level)
    except msgspec.ValidationError as error:
        raise ValueError(f"confidence of {name} is no level of intervals: {error}") from None
    parsed = parse_rows(rows, ValidationRow, name=name)
    return Validated(name, str(document.get("decoder", SPECULATIVE)), parsed, level)


def parse_rows(rows: Sequence[Any], kind: type[RowKind], *, name: str) -> tuple[RowKind, ...]:
    """Returns rows from objects with the fields of a row's `data`; refuses invalid ones."""
    parsed = []
    for number, row in enumerate(rows):
        try:
            parsed.append(msgspec.convert(row, kind))
        except msgspec.ValidationError as error:
            raise ValueError(f"row {number} of {name} is no row of a validation: {error}") from None
    return tuple(parsed)
