"""The slider of `specplan size`: the rate of requests, and the GPUs and K that each needs."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from specplan.reports.page.pictures import Span

_READING = (
    "Rates that specplan sized by the rule of the stated one, among the same deployments. Grey: "
    "the answer's GPUs are not enough by the rule."
)
_LINES = {"gpus": "the answer", "gpus_without": "without speculation"}


def rate_explorer(
    grid: Mapping[str, Any] | None, rate: float, limit: float
) -> Mapping[str, Any] | None:
    """Returns the grid of the slider as JSON; None without a grid.

    grid: the result of `size_grid`. rate: where the slider starts. limit: the largest rate that the
      answer keeps.
    """
    if grid is None:
        return None
    rates, none = grid["rates"], "no deployment keeps the targets"
    advised = ["-" if gamma is None else str(gamma or "none") for gamma in grid["gamma"]]
    shown = {
        "gpus": ("GPUs", [words or none for words in grid["best"]]),
        "advised": ("advised K", advised),
        "without": ("GPUs without speculation", [words or none for words in grid["best_without"]]),
    }
    return {
        "reading": _READING,
        "about": "GPUs by rate.",
        "axes": [
            {"key": "rate", "label": "requests a second", "values": list(range(len(rates))),
             "step": 1, "discrete": True, "names": [f"{value:g}" for value in rates]}
        ],
        "outputs": [
            {"key": key, "label": label, "axes": 1, "values": values}
            for key, (label, values) in shown.items()
        ],
        "along": rates,
        "lines": [{"name": name, "values": grid[key]} for key, name in _LINES.items()],
        "starts": [{"name": "stated", "rate": rates.index(rate)}],
        "chart": {"x": "requests a second", "y": "GPUs", "categories": [], "levels": [],
                  "spans": [asdict(Span(limit, rates[-1], ""))] if limit < rates[-1] else []},
    }  # fmt: skip
