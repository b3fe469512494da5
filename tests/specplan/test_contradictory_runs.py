"""Random runs that are noisy, contradictory or impossible get an answer that is possible."""

import json
import math
import random
from collections import defaultdict
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from specplan.main import main
from tests.specplan.plan_inputs import answered

CALLS, SEED = 60, 7
ADVICE = ("Draft ", "Run K = ", "Do not speculate", "Not worth a draft", "ndecided")
# Beyond the usual error of the baseline's time, 2 %.
NOISE = 1.1


def run_words(draw: random.Random) -> list[str]:
    """Returns arguments of `plan`: runs at one batch whose numbers need not agree."""
    base = 10 ** draw.uniform(-0.5, 2)
    words = [f"gamma=0,tpot={base * draw.uniform(0.7, 1.4):.5g}" for _ in range(draw.randint(1, 3))]
    for _ in range(draw.randint(1, 5)):
        gamma = draw.choice((1, 2, 3, 4, 5, 7, 8, 12))
        rates = sorted((draw.random() for _ in range(gamma)), reverse=draw.random() < 0.8)
        length = 1 + sum(rates)
        tpot = base / draw.choice((draw.uniform(0.2, length), draw.uniform(length, 3 * length)))
        accepted = f"length={length:.4f}"
        if draw.random() < 0.4:
            accepted = f"rates={'/'.join(f'{rate:.3f}' for rate in rates)}"
        words.append(f"gamma={gamma},tpot={max(tpot, 0.06):.5g},{accepted}")
        if draw.random() < 0.2:
            words[-1] += f",error={draw.choice((0, 0.5, 10, 40))}"
    draw.shuffle(words)
    return [argument for run in words for argument in ("--run", run)]


def impossible(words: list[str]) -> set[int]:
    """Returns each K whose runs all gain much more than the tokens of a block allow."""
    runs = [dict(part.split("=") for part in run.split(",")) for run in words[1::2]]
    base = min(float(run["tpot"]) for run in runs if run["gamma"] == "0")
    excess = defaultdict(list)
    for run in runs:
        if run["gamma"] != "0":
            rates = [float(rate) for rate in run.get("rates", "").split("/") if rate]
            length = float(run.get("length", 1 + sum(rates)))
            doubt = 1 + 3 * float(run.get("error", 2)) / 100
            excess[int(run["gamma"])].append(base / float(run["tpot"]) / length / doubt)
    return {gamma for gamma, ratios in excess.items() if min(ratios) > NOISE}


@pytest.mark.parametrize("call", range(CALLS))
def test_the_answer_is_possible(call: int, tmp_path: Path) -> None:
    check(random.Random(f"{SEED} {call}"), tmp_path / "plan.json")


@pytest.mark.parametrize(
    ("gamma", "runs"),
    [
        (3, "gamma=3,tpot=4,length=2.5 gamma=2,tpot=8,length=2"),
        (8, "gamma=8,tpot=2.0259,length=4.97"),  # Possible by the mean of both baselines.
    ],
)
def test_a_run_faster_than_the_fastest_baseline_allows_is_not_advised(
    gamma: int, runs: str
) -> None:
    runs = f"gamma=0,tpot=12.2 gamma=0,tpot=22.3 {runs}"
    plan = answered("plan", *[word for run in runs.split() for word in ("--run", run)])
    assert plan["advised_gamma"] != gamma
    for row in plan["curve"]:
        assert row["improvement_factor_high"] <= (row["gamma"] + 1) * (1 + 1e-12)
    assert any(f"run at K = {gamma} is impossible" in note for note in plan["notes"])


def test_a_k_beyond_a_fall_of_lengths_has_no_more_tokens_and_is_not_advised() -> None:
    runs = "gamma=0,tpot=10 gamma=3,tpot=8,rates=0.5/0.25/0.12 gamma=5,tpot=7.4,length=1.7"
    plan = answered("plan", *[word for run in runs.split() for word in ("--run", run)])
    assert plan["advised_gamma"] == 5
    assert all(row["expected_tokens"] < 1.71 for row in plan["curve"] if row["gamma"] >= 5)
    assert any("fall from 1.87 at K = 3 to 1.70 at K = 5" in note for note in plan["notes"])


def check(draw: random.Random, file: Path) -> None:
    """Asks for one random plan and asserts what every plan must keep."""
    words = run_words(draw)
    result = CliRunner().invoke(main, ["plan", *words, "--output", str(file)])
    assert "report it" not in result.output, words
    if result.exit_code == 2:
        # Rates that rise by position, and times that no server has, are refused in a line.
        assert " must " in result.stderr, (words, result.stderr)
        assert len(result.stderr.splitlines()) == 1, words
        return
    assert result.exit_code == 0, (words, result.output)
    assert any(advice in result.stdout for advice in ADVICE), (words, result.stdout)
    plan = json.loads(file.read_text(encoding="utf-8"))
    for row in plan["curve"]:
        gain, low, high = (row[f"improvement_factor{end}"] for end in ("", "_low", "_high"))
        assert 0 < low <= gain * (1 + 1e-9), (words, row)
        assert gain <= high * (1 + 1e-9), (words, row)
        assert gain <= row["expected_tokens"] * (1 + 1e-6), (words, row)
    advised = plan["advised_gamma"]
    assert advised not in impossible(words), (words, advised)
    assert plan["next_run"] is None or math.isfinite(plan["next_run"].get("gain_percent") or 0)


def many(calls: int) -> None:
    """Checks other plans than the tests: python -m tests.specplan.test_contradictory_runs N."""
    failures = 0
    for call in range(calls):
        try:
            check(random.Random(f"by hand {call}"), Path("/tmp/contradictory.json"))
        except AssertionError as error:
            failures += 1
            click.echo(f"{call}: {str(error)[:600]}")
    click.echo(f"{failures} of {calls} failed")


if __name__ == "__main__":
    import sys

    many(int(sys.argv[1]))
