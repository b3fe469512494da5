"""Writes the rows of the scoreboard: every public measurement, predicted without its source.

    python benchmarks/scoreboard.py    # writes docs/assets/scoreboard_rows.js

A row that measured kernels cover is predicted over them, as `specplan plan` does; every other row
over the roofline. No prediction uses a row of the same source (`published_scores.without_source`).
The fits take four minutes on one core.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from published_deployed import impossible
from published_fit import KERNELS
from published_rows import over_kernels, read_rows
from published_scores import Guess, guess, without_source

PAGE = Path(__file__).parent.parent / "docs" / "assets" / "scoreboard_rows.js"
FACTS = ("source", "engine", "version", "date", "gpu", "tp", "target", "format", "draft")
COUNTS = ("gamma", "batch", "context", "length")
SPEEDS = ("measured", "predicted", "low", "high")


def cells(predicted: Guess, basis: str) -> dict[str, str | float]:
    """Returns a row of the scoreboard: speed-ups are ratios of times per token, K is `gamma`."""
    row = predicted.row
    known: dict[str, str | float] = {name: row.facts[name] for name in FACTS}
    # The page adds the number of GPUs.
    known["gpu"] = re.sub(r"^\d+x ", "", row.facts["gpu"])
    known["class"], known["basis"] = row.traits.draft, basis
    known |= {name: json.loads(row.facts[name]) for name in COUNTS if row.facts[name]}
    logs = (predicted.measured, predicted.log, predicted.low, predicted.high)
    names = ("measured", "predicted", "low", "high")
    return known | {
        name: round(float(np.exp(log)), 3) for name, log in zip(names, logs, strict=True)
    }


def main() -> None:
    every, _ = read_rows()
    left_out = impossible(every)
    every = [row for row in every if row.facts["target"] not in left_out]
    measured = {id(row.facts): row for row in over_kernels(every)}
    prior = without_source(every)
    kernels = without_source(list(measured.values()), KERNELS)
    rows = []
    for row in every:
        covered = measured.get(id(row.facts))
        if covered is None:
            rows.append(cells(guess(row, [], prior[row.owner]), "roofline"))
        else:
            rows.append(cells(guess(covered, [], kernels[row.owner]), "kernels"))
    names = [*FACTS, "class", "basis", *COUNTS, *SPEEDS]
    lines = [json.dumps([row.get(name) for name in names], separators=(",", ":")) for row in rows]
    table = ",\n".join(lines)
    content = f"const NAMES = {json.dumps(names)};\nconst ROWS = [\n{table}\n];\n"
    PAGE.write_text(content, encoding="utf-8")
    print(f"Wrote {len(rows)} rows, {len(measured)} of them over measured kernels, to {PAGE.name}.")


if __name__ == "__main__":
    main()
