"""Random inputs, 300 of them: each is answered with possible numbers, or refused in one line.

SPECPLAN_FUZZ=10000 tries as many; SPECPLAN_FUZZ_SEED begins elsewhere.
"""

import json
import math
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from specplan.main import main
from tests.specplan.random_commands import Commands, refusal

COUNT = int(os.environ.get("SPECPLAN_FUZZ", "300"))
SEED = int(os.environ.get("SPECPLAN_FUZZ_SEED", "0"))
PARTS = 2
TIMES = ("tpot_ms", "ttft_ms", "ms_per_token", "tokens_per_second")


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("part", range(PARTS))
def test_random_inputs_are_answered_possibly_or_refused_in_a_line(
    part: int, tmp_path: Path
) -> None:
    commands, failures = Commands(PARTS * SEED + part, tmp_path), []
    counts: Counter[str] = Counter()
    for _ in range(COUNT // PARTS):
        words = commands.next()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = CliRunner().invoke(main, words)
        counts[f"{words[0]} answered" if result.exit_code == 0 else refusal(result.stderr)] += 1
        reason = failure(result)
        if reason is not None:
            failures.append(f"{reason}: specplan {' '.join(words)}")
    if COUNT > 300:
        for text, count in counts.most_common():
            print(f"{count:6d}  {text}", file=sys.stderr)
    assert failures == []
    answered = sum(count for text, count in counts.items() if text.endswith("answered"))
    assert answered > COUNT / PARTS / 2


def failure(result: Result) -> str | None:
    """Returns why a result is wrong; None: it is an answer that can be, or a refusal in a line."""
    if result.exit_code == 2:
        lines = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        whole = len(lines) == 1 and result.stdout == "" and "Traceback" not in result.stderr
        return None if whole else f"a refusal of {len(lines)} lines {result.output[-300:]!r}"
    if result.exit_code != 0:
        return f"exit {result.exit_code}, {result.stderr[-300:]!r}"
    wrong = [each for each in objects(json.loads(result.stdout)) if not can_be(each)]
    return f"impossible {wrong[0]}" if wrong else None


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yields an object of JSON, and all objects in it."""
    if isinstance(value, dict):
        yield value
    inside = value.values() if isinstance(value, dict) else value
    for each in inside if isinstance(value, dict | list) else ():
        yield from objects(each)


def can_be(found: dict[str, Any]) -> bool:
    """Returns whether the numbers of an object can be, those that are its own."""
    if found.get("stable") is False:
        return True
    checks = [
        0 <= found[name] <= 1 + 1e-9
        for name in ("alpha", "gain_probability", "accepted_fraction")
        if isinstance(found.get(name), float | int)
    ]
    if isinstance(found.get("expected_tokens"), float):
        most = found.get("depth", found.get("gamma")) + 1
        checks.append(1 - 1e-9 <= found["expected_tokens"] <= most * (1 + 1e-9))
        checks.append(found["improvement_factor"] >= 0)
    for name, value in found.items():
        if isinstance(value, float):
            checks.append(math.isfinite(value))
        if (
            name in ("tpot_ms", "ttft_ms", "ms_per_token", "tokens_per_second")
            and value is not None
        ):
            checks.append(value > 0)
        low = found.get(f"{name}_low")
        if isinstance(low, float) and isinstance(found.get(f"{name}_high"), float):
            checks.append(low <= found[f"{name}_high"])
    return all(checks)
