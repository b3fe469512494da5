"""No road advises a step beyond the captured graphs while the baseline's is within."""

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.specplan.plan_inputs import run, run_json

CONFIGS = Path(__file__).parents[2] / "docs" / "configs"
PAIR = (
    f"--target-config {CONFIGS}/llama-3.1-8b.json "
    f"--draft-config {CONFIGS}/llama-3.1-8b-eagle3.json --gpu h100 --engine vllm"
)
FREE = "--graph-tokens 0"
BATCHES = (1, 8, 21, 32, 64, 100, 200)


@cache
def of_plans(limit: str) -> list[tuple[int, int]]:
    rows = run_json(f"{PAIR} --alpha 0.9 --batch {','.join(map(str, BATCHES))} {limit}")["rows"]
    return [(row["batch"], row["advised_gamma"]) for row in rows]


@cache
def of_schedules(limit: str) -> list[tuple[int, int]]:
    found = run_json(f"{PAIR} --alpha 0.9 --batch 1:200:3 {limit}")["schedule"]
    return [(each["last_batch"], each["gamma"]) for each in found]


@cache
def of_exports(limit: str) -> list[tuple[int, int]]:
    """The number that takes the place of 0 is not advised: its comment says so."""
    flags = run(
        f"{PAIR} --alpha 0.9 --batch 1:{min(200, most_of(limit))}:3 {limit} --export vllm"
    ).stdout
    config: dict[str, Any] = json.loads(shlex.split(flags, comments=True)[1])
    ranges = config["num_speculative_tokens_per_batch_size"]
    stops = [(last, gamma) for _, last, gamma in ranges]
    return stops[:-1] if "even K = 1 is beyond the captured graphs" in flags else stops


@cache
def of_traffic(limit: str) -> list[tuple[int, int]]:
    found = run_json(
        f"{PAIR} --alpha 0.9 --rate 1,20,30 --prompt-tokens 200 --output-tokens 200 --slots 64 "
        f"{limit}",
        command="traffic",
    )
    rows = [row for row in found["rows"] if row["speculation"] and row["advised_gamma"] > 0]
    return [
        *((row["most_sequences"], row["advised_gamma"]) for row in rows),
        *((each["last_batch"], each["gamma"]) for each in found["schedule"]),
    ]


@cache
def of_trees(limit: str) -> list[tuple[int, int]]:
    ranks = "--acceptance-by-rank 0.97,0.02"
    batches = ",".join(map(str, BATCHES))
    found = run_json(f"{PAIR} {ranks} --batch {batches} --max-nodes 16 {limit}", command="tree")
    for row in found["rows"]:
        for by_node in row["by_nodes"]:
            beyond = row["batch"] * (by_node["nodes"] + 1) > most_of(limit)
            assert by_node["beyond_graphs"] == (beyond and limit != FREE)
    return [(row["batch"], row[way]["nodes"]) for row in found["rows"] for way in ("best", "chain")]


def most_of(limit: str) -> int:
    return int(limit.split()[-1]) or 512 if limit else 512


@pytest.mark.parametrize("limit", ["", "--graph-tokens 64"])
@pytest.mark.parametrize("road", [of_plans, of_schedules, of_exports, of_traffic, of_trees])
def test_no_advised_step_is_beyond_while_the_baseline_is_within(road: Any, limit: str) -> None:
    most = most_of(limit)
    advised = [(batch, gamma) for batch, gamma in road(limit) if batch <= most]
    assert max(gamma for _, gamma in advised) > 0
    assert all(batch * (gamma + 1) <= most for batch, gamma in advised)
    # Without the limit some step of this road is larger.
    free = [(batch, gamma) for batch, gamma in road(FREE) if batch <= most]
    assert any(batch * (gamma + 1) > most for batch, gamma in free)
