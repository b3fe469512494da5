"""Raises an error for impossible predictions, such as a time below 0, before they are printed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from simulator.cost.cost import Cost

TOLERANCE = 1e-9
PROBABILITIES = (
    "alpha", "alpha_iid", "accepted_fraction", "break_even_alpha", "gain_probability",
)  # fmt: skip
CAPACITIES = ("most_requests_per_second", "most_requests_per_second_without")
TOKENS, SPEED_UP = "expected_tokens", "improvement_factor"
# Beginnings of the names of times and speeds, which are above 0, and of numbers of at least 0.
TIMES = ("tpot_ms", "ttft_ms", "request_ms", "ms_per_token", "baseline_ms", "tokens_per_second")
RATES = ("batch", "rate", "most_requests_per_second", "break_even_rate")


def possible(
    predicted: Mapping[str, Any],
    *,
    bounded: bool = False,
    ends: bool = False,
    prompts_per_second: float = np.inf,
) -> dict[str, Any]:
    """Returns the JSON object of predictions; raises an ArithmeticError on an impossible number.

    Probabilities lie in [0, 1], times are above 0, a block of γ drafted tokens emits 1 to γ + 1
    tokens, and no number is NaN. If `bounded`, a speed-up is at most the tokens per block
    (Leviathan et al. 2023, Theorem 8 with c = 0).

    Args:
      predicted: a JSON object; objects and lists in it are checked, too.
      bounded: whether each block takes at least the time of a target step (`blocks_take_a_step`).
      ends: whether the bounds also apply to the ends of intervals, because the acceptance is exact
        and no cost was fitted to a run.
      prompts_per_second: prompts that a server could read per second if it decoded nothing; its
        capacity cannot be larger.
    """
    for each in _objects(predicted):
        if each.get("stable") is False:  # beyond what the server sustains, and printed as such
            continue
        gamma = each.get("depth", each.get("gamma"))
        for name, value in each.items():
            if isinstance(value, float | int) and not isinstance(value, bool):
                kind = name.removesuffix("_low").removesuffix("_high") if ends else name
                low, high = _bounds(kind, gamma, each if bounded else {})
                if name in CAPACITIES:
                    high = prompts_per_second
                slack = TOLERANCE * max(1.0, abs(value))
                if not low - slack <= value <= high + slack:
                    at = "" if gamma is None else f" at gamma {gamma}"
                    raise ArithmeticError(
                        f"a prediction is impossible, please report it: {name} must lie in "
                        f"[{low:g}, {high:g}]{at}, got {value:g}"
                    )
    return dict(predicted)


def blocks_take_a_step(cost: Cost, most_gamma: int) -> bool:
    """Returns whether verifying 1 to most_gamma tokens takes at least as long as a plain step."""
    checks = cost.checking_seconds(np.arange(1, most_gamma + 1))
    return bool((np.asarray(checks) >= cost.baseline_seconds * (1 - TOLERANCE)).all())


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str):
        for each in value:
            yield from _objects(each)


def _bounds(name: str, gamma: Any, bounded: Mapping[str, Any]) -> tuple[float, float]:
    """Returns the smallest and largest possible value of the number called `name` at `gamma`."""
    if name in PROBABILITIES:
        return 0.0, 1.0
    if name == TOKENS:
        return 1.0, np.inf if gamma is None else gamma + 1.0
    if name == SPEED_UP:
        return 0.0, bounded.get(TOKENS, np.inf)
    if name.startswith(TIMES):
        return 2 * TOLERANCE, np.inf  # the tolerance lets no 0 pass
    return (0.0 if name.startswith(RATES) else -np.inf), np.inf
