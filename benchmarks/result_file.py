"""The JSON file of a benchmark: results, versions of libraries, and date."""

import json
import platform
from collections.abc import Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from estimator.writing import write_whole


def setup(*libraries: str) -> dict[str, Any]:
    """Returns the date, and the versions of Python and some libraries."""
    versions = {name: version(name) for name in libraries}
    return {
        "versions": versions | {"python": platform.python_version()},
        "date": date.today().isoformat(),
    }


def write_result(path: Path, result: Mapping[str, Any], *, indent: int = 2) -> None:
    """Writes a result as JSON, whole or not at all; the folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, (json.dumps(result, indent=indent) + "\n").encode())
