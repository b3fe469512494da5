"""What was measured on this project's own models, beside which the paper's numbers are drawn.

`benchmarks/lattice_rescoring.py` wrote the file.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"
PAPER = "Kim et al. 2024 (blockwise drafts)"


@cache
def latencies() -> Any:
    """Returns the times of rescoring lattices."""
    return json.loads((RESULTS / "lattice.json").read_text(encoding="utf-8"))
