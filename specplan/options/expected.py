"""The acceptance that a server is expected to have: `--expect length=2.85`, or a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specplan.options.declared import option
from specplan.options.values import callback

if TYPE_CHECKING:
    from engines.observing.drift import Expected


@callback
def parse_expected(value: str | None) -> Expected | None:
    """Returns the expectation that --expect states, or that its file holds."""
    from engines.observing.drift import read_expected

    if value is None:
        return None
    path = Path(value)
    if not path.is_file():
        return read_expected(value)
    try:
        return read_expected(value, path.read_text("utf-8"))
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise ValueError(f"{value} must be a profile or the JSON of plan or observe") from error
    except ValueError as error:
        raise ValueError(f"{value}: {error}") from error


@dataclass(frozen=True)
class Expecting:
    """An expectation.

    expect: The acceptance expected: length=L, rates=R/R/..., a profile, or the JSON of plan or of
      an earlier observe. Exit status 3 if the 90 % interval excludes it.
    """

    # An engines.observing.drift.Expected; help must not wait for that import.
    expect: Any = option(callback=parse_expected, metavar="KEY=VALUE|FILE")
