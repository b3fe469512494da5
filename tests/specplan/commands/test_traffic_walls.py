"""`traffic` drafts no step beyond the captured graphs while the baseline's is within."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from specplan.main import main

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
LOAD = (
    "--rate 1,20 --prompt-tokens 200 --output-tokens 300 --alpha 0.8 --gpu h100 --slots 128 "
    f"--target-config {CONFIGS / 'llama-3.1-8b.json'} "
    f"--draft-config {CONFIGS / 'llama-3.1-8b-eagle3.json'}"
)


def traffic(options: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["traffic", *LOAD.split(), *options.split(), "--json"])
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(("stated", "most"), [("", 512), ("--graph-tokens 64", 64)])
def test_no_advised_step_is_beyond_the_captured_graphs(stated: str, most: int) -> None:
    found = traffic(f"--engine vllm {stated}")
    within = [each for each in found["schedule"] if each["last_batch"] <= most]
    assert within
    assert all(each["last_batch"] * (each["gamma"] + 1) <= most or each["gamma"] == 0
               for each in within)  # fmt: skip
    for row in found["rows"]:
        if row.get("advised_gamma"):
            assert row["batch"] * (row["advised_gamma"] + 1) <= most


def test_without_a_limit_longer_drafts_are_advised() -> None:
    free, limited = (
        traffic(f"--engine vllm --graph-tokens {most}")["schedule"] for most in (0, 64)
    )
    assert [each["gamma"] for each in free] != [each["gamma"] for each in limited]
    assert min(each["gamma"] for each in free) > 0
    assert 0 in [each["gamma"] for each in limited]
