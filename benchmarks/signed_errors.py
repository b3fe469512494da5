"""How far whole validations are off, by gamma: the mean signed error with its interval.

    specplan validate --repeats 3 --seed 0 -o v0.json      # at least three, with seeds of their own
    python benchmarks/signed_errors.py v0.json v1.json v2.json

Errors of one gamma are one for each file, draft and temperature; the interval is Student's t.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from estimator.intervals import student


def signed_errors(rows: Sequence[dict[str, float | None]]) -> dict[int, tuple[float, float, int]]:
    """Returns the mean error in per cent, how far its interval reaches, and the rows, by gamma.

    Rows that nothing predicted are left out.
    """
    errors = defaultdict(list)
    for row in rows:
        if row["gamma"] is not None and row["error_percent"] is not None:
            errors[int(row["gamma"])].append(row["error_percent"])
    return {
        gamma: (
            float(np.mean(values)),
            student(len(values) - 1) * float(np.std(values, ddof=1)) / len(values) ** 0.5
            if len(values) > 1
            else float("inf"),
            len(values),
        )
        for gamma, values in sorted(errors.items())
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, help="JSON of specplan validate.")
    files = parser.parse_args().files
    rows = [row for file in files for row in json.loads(file.read_text())["rows"]]
    for gamma, (mean, reach, count) in signed_errors(rows).items():
        surely = "off" if abs(mean) > reach else "not significantly off"
        print(f"gamma {gamma:2}: {mean:+5.1f} % +- {reach:.1f} of {count} rows, {surely}")
    absolute = [abs(row["error_percent"]) for row in rows if row["error_percent"] is not None]
    print(f"all: {np.mean(absolute):.1f} % off on average, {max(absolute):.1f} % at most")


if __name__ == "__main__":
    main()
