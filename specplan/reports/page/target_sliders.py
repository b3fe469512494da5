"""The sliders of a server under load: the rate of requests, and latency targets."""

from collections.abc import Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]
_READING = (
    "Rates and latency targets for which specplan computed the share of requests within the "
    "targets, in closed form, at the K of each rate."
)
_SIMULATED = " Near the capacity the simulated shares above are the better ones."


def target_explorer(
    grid: Json | None, rate: float, targets: Mapping[str, float], *, simulated: bool = False
) -> Json | None:
    """Returns the grid of the sliders as JSON; None without a grid.

    grid: the result of `target_grid`. rate, targets: where the sliders start, targets by name in
      milliseconds. simulated: whether the page has simulated shares, too.
    """
    if grid is None:
        return None
    rates = grid["rates"]
    steps = {"rate": rates, "tpot": grid["tpot_ms"], "ttft": grid["ttft_ms"]}
    labels = {"rate": "requests a second", "tpot": "TPOT target, ms", "ttft": "TTFT target, ms"}
    moved = {key: values for key, values in steps.items() if values != [None]}
    states = zip(*(grid[key] for key in ("gamma", "advised", "undecided", "likely")), strict=True)
    advice = [_advice(*state) for state in states]
    shares = {"with speculation": grid["share"], "without": grid["share_without"]}
    start = {"rate": rates.index(rate)}
    start |= {name: _nearest(moved[name], target) for name, target in targets.items()}
    return {
        "reading": _READING + _SIMULATED * simulated,
        "about": "Per cent of requests within the targets by rate.",
        "axes": [
            {"key": key, "label": labels[key], "values": list(range(len(values))), "step": 1,
             "discrete": True, "names": [f"{value:g}" for value in values]}
            for key, values in moved.items()
        ],
        "outputs": [
            {"key": "advised", "label": "advised K", "axes": 1, "values": advice},
            *(
                {"key": f"share-{at}", "label": f"within the targets {name}", "axes": len(moved),
                 "values": [f"{100 * share:.1f} %" for share in values]}
                for at, (name, values) in enumerate(shares.items())
            ),
        ],
        "along": rates,
        "lines": [
            {"name": name, "values": [round(100 * share, 2) for share in values]}
            for name, values in shares.items()
        ],
        "starts": [{"name": "the stated targets", **start}],
        "chart": {"x": "requests a second", "y": "per cent", "categories": [], "spans": [],
                  "levels": []},
    }  # fmt: skip


def _advice(gamma: int, advised: bool, undecided: bool, likely: bool) -> str:
    if undecided:
        start = "undecided" if likely else "no gain is likely"
        return f"{start}: measure K = {gamma}"
    return f"{gamma}" if advised else f"do not speculate (K = {gamma} shown)"


def _nearest(values: Sequence[float], target: float) -> int:
    return min(range(len(values)), key=lambda at: abs(values[at] - target))
