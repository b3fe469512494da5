"""Reading what a validation wrote: one row per draft, temperature and γ policy."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One validated setting; speed-ups are factors over decoding without a draft.

    predicted: replay of the run's own text with calibrated costs ("predicted_calibrated").
    low, high: bounds of the measurement, None where the file has none.
    """

    draft: str
    temperature: float
    policy: str
    gamma: int | None
    alpha: float | None
    predicted_theorem8: float | None
    predicted: float
    measured: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Results:
    """The rows of one results file and the file's name, for titles."""

    name: str
    rows: tuple[Row, ...]


def read_results(path: Path) -> Results:
    """Returns the rows of a JSON file that `specplan validate --json` printed.

    Raises:
      ValueError: if the file is not such JSON, or a row lacks a field or has one that is no number.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    rows = document.get("rows") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"{path} has no rows: it is not the output of validate --json")
    return Results(
        name=path.name, rows=tuple(_row(path, index, row) for index, row in enumerate(rows))
    )


def _row(path: Path, index: int, fields: Any) -> Row:
    if not isinstance(fields, Mapping):
        raise ValueError(f"row {index} of {path} must be an object, got {fields!r}")

    def needed(name: str) -> float:
        value = optional(name)
        if value is None:
            raise ValueError(f"row {index} of {path} has no {name}")
        return value

    def optional(name: str) -> float | None:
        value = fields.get(name)
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise ValueError(f"{name} in row {index} of {path} must be a number, got {value!r}")
        return float(value)

    gamma = optional("gamma")
    return Row(
        draft=str(fields.get("draft", "draft")),
        temperature=needed("temperature"),
        policy=str(fields.get("policy", "fixed")),
        gamma=None if gamma is None else int(gamma),
        alpha=optional("alpha"),
        predicted_theorem8=optional("predicted_theorem8"),
        predicted=needed("predicted_calibrated"),
        measured=needed("measured"),
        low=optional("measured_low"),
        high=optional("measured_high"),
    )
