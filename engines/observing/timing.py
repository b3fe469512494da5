"""Times that sources report, from each sequence's first token to its last."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_TOKEN_TIMES = ("mean_tpot_ms", "median_tpot_ms")


@dataclass(frozen=True, slots=True)
class Timed:
    """Times between tokens of a sequence, summed over all sequences.

    seconds: above 0; tokens: number of tokens after each sequence's first, at least 1.
    batch: most sequences decoded together; None if not reported.
    """

    seconds: float
    tokens: int
    batch: int | None = None

    @property
    def seconds_per_token(self) -> float:
        """Mean time between two tokens of one sequence."""
        return self.seconds / self.tokens


def added(first: Timed | None, other: Timed | None) -> Timed | None:
    """Returns the sum of two times; None if one of them is None."""
    if first is None or other is None:
        return None
    if first.batch != other.batch:
        raise ValueError(f"sources must be of one batch, got {first.batch} and {other.batch}")
    return Timed(first.seconds + other.seconds, first.tokens + other.tokens, first.batch)


def subtracted(later: Timed | None, earlier: Timed | None) -> Timed | None:
    """Returns the time between two readings; None if it has no tokens or is not reported."""
    if later is None or earlier is None:
        return None
    seconds, tokens = later.seconds - earlier.seconds, later.tokens - earlier.tokens
    return Timed(seconds, tokens, later.batch) if seconds > 0 and tokens > 0 else None


def timed_page(seconds: float, tokens: float) -> Timed | None:
    """Returns the times in the sums of a metrics page; None if no token was timed."""
    return Timed(seconds, round(tokens)) if seconds > 0 and round(tokens) > 0 else None


def timed_bench(result: Mapping[str, Any]) -> Timed | None:
    """Returns the times in the result of a server's bench; None if nothing was streamed.

    It reads the names of `vllm bench serve` and of SGLang's `bench_serving`: the mean over
    requests, else their median.
    """
    for name in _TOKEN_TIMES:
        milliseconds = number(result, name)
        if milliseconds > 0:
            break
    else:
        return None
    emitted, requests = result.get("total_output_tokens"), result.get("completed")
    # One token stands for all where a result does not count them.
    tokens = 1
    if isinstance(emitted, int) and isinstance(requests, int):
        tokens = max(1, emitted - requests)
    batch = result.get("max_concurrency")
    return Timed(milliseconds / 1e3 * tokens, tokens, batch if isinstance(batch, int) else None)


def number(printed: Mapping[str, Any], name: str) -> float:
    """Returns a number of a JSON object, at least 0; 0 if it is null or missing."""
    found = printed.get(name)
    if found is None:
        return 0.0
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, got {found!r}")
    return float(found)
