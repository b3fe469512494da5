"""Reading what a validation wrote: one row per draft, temperature and γ policy."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One validated setting; speed-ups are factors over decoding without a draft.

    gamma: of a fixed policy, else None.
    predicted: replay of the run's own text with calibrated costs ("predicted_calibrated"); None
      for a policy that replay does not predict.
    low, high: bounds of the measurement, None where there are none.
    seconds: of drafting, of verifying and of all else; None where they were not told apart.
    """

    draft: str
    temperature: float
    policy: str
    gamma: int | None
    alpha: float | None
    predicted: float | None
    measured: float
    low: float | None
    high: float | None
    seconds: tuple[float, float, float] | None = None


def short_name(draft: str) -> str:
    """Returns a draft as drawings name it: files without their folders, ngram:m.arpa."""
    return re.sub(r"[^:+]*[/\\](?=[^/\\])", "", draft)


@dataclass(frozen=True, slots=True)
class Results:
    """The rows of one validation and what to call it in titles."""

    name: str
    rows: tuple[Row, ...]


def read_results(path: Path) -> Results:
    """Returns the rows of a JSON file that `specplan validate --json` printed.

    Raises:
      ValueError: if the file is not such JSON, or a row lacks a field or has one that is no number.
      OSError: if it cannot be read.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be JSON, got: {error}") from None
    return parse_results(document, name=path.name)


def parse_results(document: Any, *, name: str) -> Results:
    """Returns the rows of a validation as JSON knows it.

    Args:
      document: an object whose "rows" are objects with the fields of `specplan validate --json`.
      name: what to call it in titles and messages.

    Raises:
      ValueError: if it has no rows, or a row lacks a field or has one that is no number.
    """
    rows = document.get("rows") if isinstance(document, Mapping) else None
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"{name} has no rows: it is not the output of validate --json")
    return Results(
        name=name, rows=tuple(_row(row, f"row {i} of {name}") for i, row in enumerate(rows))
    )


def _row(fields: Any, where: str) -> Row:
    if not isinstance(fields, Mapping):
        raise ValueError(f"{where} must be an object, got {fields!r}")

    def optional(field: str) -> float | None:
        value = fields.get(field)
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise ValueError(f"{field} in {where} must be a number, got {value!r}")
        return float(value)

    def needed(field: str) -> float:
        value = optional(field)
        if value is None:
            raise ValueError(f"{where} has no {field}")
        return value

    gamma = optional("gamma")
    parts = [optional(f"{part}_seconds") for part in ("draft", "verify", "other")]
    known = [seconds for seconds in parts if seconds is not None]
    return Row(
        draft=str(fields.get("draft", "draft")),
        temperature=needed("temperature"),
        policy=str(fields.get("policy", "fixed")),
        gamma=None if gamma is None else int(gamma),
        alpha=optional("alpha"),
        predicted=optional("predicted_calibrated"),
        measured=needed("measured"),
        low=optional("measured_low"),
        high=optional("measured_high"),
        seconds=(known[0], known[1], known[2]) if len(known) == len(parts) else None,
    )
