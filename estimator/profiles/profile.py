"""Profiles: what was measured of a pair, as a JSON file that planning reads without torch."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from estimator.writing import write_whole
from simulator.cost.curves import CostModel

SCHEMA = "specplan-profile"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Profile:
    """What planning needs of a profile; `data` is the whole file.

    alpha: E[sum min(p, q)].
    alpha_by_lenience: alpha(l) by lenience l.
    cost: the measured cost model.
    c_hat: draft over target arithmetic operations per token.
    """

    alpha: float
    alpha_by_lenience: Mapping[float, float]
    cost: CostModel
    c_hat: float
    data: Mapping[str, Any]


def read_profile(path: Path) -> Profile:
    """Returns the profile that `write_profile` wrote.

    Raises:
      OSError: if the file cannot be read.
      ValueError: if it is no profile, is of another schema version, or lacks a key.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"profile {path} must be JSON, got: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError(f"profile {path} must be written by 'specplan measure', got another JSON")
    if data.get("version") != VERSION:
        raise ValueError(f"profile {path} must have version {VERSION}, got {data.get('version')}")
    try:
        return Profile(
            alpha=_number(data["alpha"]["value"]),
            alpha_by_lenience={
                _number(float(lenience)): _number(value)
                for lenience, value in data["alpha_by_lenience"].items()
            },
            cost=CostModel(
                target_seconds={
                    int(n): _number(ms) / 1e3 for n, ms in data["target_ms"].items()
                },
                draft_seconds=_number(data["draft_ms"]) / 1e3,
                overhead_seconds=_number(data["overhead_ms"]) / 1e3,
                baseline_overhead_seconds=_number(data["baseline_overhead_ms"]) / 1e3,
                draft_curve={
                    int(g): _number(ms) / 1e3 for g, ms in data.get("drafting_ms", {}).items()
                },
            ),
            c_hat=_number(data["c_hat"]),
            data=data,
        )
    except KeyError as error:
        raise ValueError(f"profile {path} must have the key {error.args[0]}, got none") from error
    except (TypeError, AttributeError) as error:
        raise ValueError(f"profile {path} must hold numbers where they belong: {error}") from error


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"a profile's numbers must be finite, got {value!r}")
    return float(value)


def write_profile(data: Mapping[str, Any], path: Path) -> None:
    """Writes a profile; the file appears only when complete."""
    text = json.dumps({"schema": SCHEMA, "version": VERSION, **data}, indent=2, allow_nan=False)
    write_whole(path, (text + "\n").encode())
