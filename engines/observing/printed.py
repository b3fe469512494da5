"""Numbers that servers print, and times from each sequence's first token to its last."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Timed:
    """Times between tokens of a sequence, summed over all sequences.

    seconds: the sum, above 0; tokens: number of tokens after each sequence's first, at least 1.
    batch: most sequences decoded together; None if not reported.
    """

    seconds: float
    tokens: int
    batch: int | None = None

    @property
    def seconds_per_token(self) -> float:
        """Mean seconds between two tokens of one sequence."""
        return self.seconds / self.tokens


def added(first: Timed | None, other: Timed | None) -> Timed | None:
    """Returns the sum of two times; None if one of them is None."""
    if first is None or other is None:
        return None
    if first.batch != other.batch:
        raise ValueError(f"sources must be of one batch, got {first.batch} and {other.batch}")
    return Timed(first.seconds + other.seconds, first.tokens + other.tokens, first.batch)


def times(seconds: float, tokens: float, batch: int | None = None) -> Timed | None:
    """Returns times between tokens; None if no token was timed."""
    return Timed(seconds, round(tokens), batch) if seconds > 0 and round(tokens) > 0 else None


def timed_bench(result: Mapping[str, Any]) -> Timed | None:
    """Returns the times in the result of a server's bench; None if it has no time per token.

    It reads the keys of `vllm bench serve` and SGLang's `bench_serving`. The time is the mean over
    requests, else the median.
    """
    milliseconds = number(result, "mean_tpot_ms") or number(result, "median_tpot_ms")
    emitted, requests = result.get("total_output_tokens"), result.get("completed")
    # One token stands for all where a result does not count them.
    tokens = 1
    if isinstance(emitted, int) and isinstance(requests, int):
        tokens = max(1, emitted - requests)
    batch = result.get("max_concurrency")
    return times(milliseconds / 1e3 * tokens, tokens, batch if isinstance(batch, int) else None)


def number(printed: Mapping[str, Any], name: str) -> float:
    """Returns a number of a JSON object, at least 0; 0 if it is null or missing."""
    found = printed.get(name)
    if found is None:
        return 0.0
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, got {found!r}")
    return float(found)


def whole_number(printed: Mapping[str, Any], name: str) -> int:
    """Returns a count in a JSON object; refuses values other than whole numbers of at least 0."""
    found = printed.get(name)
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise ValueError(f"{name} must be a whole number of at least 0, got {found!r}")
    return found


def text_of(printed: Mapping[str, Any], name: str) -> str | None:
    """Returns the string under a key of a JSON object; None if it is missing or no string."""
    found = printed.get(name)
    return found if isinstance(found, str) else None
