"""`traffic` drafts no step beyond the captured graphs while the baseline's is within."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from specplan.main import main

pytestmark = pytest.mark.usefixtures("few_draws")

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
LOAD = (
    "--rate 1,20 --prompt-tokens 200 --output-tokens 300 --alpha 0.8 --gpu h100 "
    f"--target-config {CONFIGS / 'llama-3.1-8b.json'} "
    f"--draft-config {CONFIGS / 'llama-3.1-8b-eagle3.json'}"
)


BURST = LOAD.replace("--rate 1,20", "--burst 300")


def text(options: str, load: str = LOAD) -> str:
    return CliRunner().invoke(main, ["traffic", *load.split(), *options.split()]).output


def traffic(options: str, load: str = LOAD) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text(f"{options} --json", load))
    return found


@pytest.mark.parametrize(("stated", "most"), [("", 512), ("--graph-tokens 64", 64)])
def test_no_advised_step_is_beyond_the_captured_graphs(stated: str, most: int) -> None:
    found = traffic(f"--engine vllm --slots 128 {stated}")
    within = [each for each in found["schedule"] if each["last_batch"] <= most]
    assert within
    assert all(each["last_batch"] * (each["gamma"] + 1) <= most or each["gamma"] == 0
               for each in within)  # fmt: skip
    for row in found["rows"]:
        if row.get("advised_gamma"):
            assert row["batch"] * (row["advised_gamma"] + 1) <= most


def test_without_a_limit_longer_drafts_are_advised() -> None:
    free, limited = (
        traffic(f"--engine vllm --slots 128 --graph-tokens {most}")["schedule"] for most in (0, 64)
    )
    assert [each["gamma"] for each in free] != [each["gamma"] for each in limited]
    assert min(each["gamma"] for each in free) > 0
    assert 0 in [each["gamma"] for each in limited]


def test_a_fixed_gamma_serves_as_many_requests_as_captured_graphs_hold() -> None:
    """By hand: 64 tokens are 16 requests of 4 tokens; --slots 16 without a limit is that server."""
    ways = "--engine vllm --gamma 3 --slo tpot=8 --batch 1,16,64"
    limited = traffic(f"{ways} --slots 64 --graph-tokens 64")
    by_hand = traffic(f"{ways} --slots 16 --graph-tokens 0")
    whole = traffic(f"{ways} --slots 64 --graph-tokens 0")
    for key in ("most_requests_per_second", "slo_requests_per_second"):
        # Bisection ends at a thousandth.
        assert limited[key] == pytest.approx(by_hand[key], rel=1e-3)
        assert limited[key] < 0.9 * whole[key]
        assert limited[f"{key}_without"] == pytest.approx(whole[f"{key}_without"], rel=1e-3)
    assert whole["break_even_rate"] is None
    assert limited["break_even_rate"] < limited["most_requests_per_second"]
    rows = [row for row in limited["rows"] if row["speculation"]]
    assert [row["most_sequences"] for row in rows] == [16, 16]
    assert not any(row["beyond_graphs"] for row in limited["rows"])


def test_simulations_of_a_fixed_gamma_stay_within_captured_graphs() -> None:
    ways = "--engine vllm --gamma 3 --batch 1,16,64"
    limited, by_hand = f"{ways} --graph-tokens 64 --slots 64", f"{ways} --graph-tokens 0 --slots 16"
    for load, more in ((BURST, ""), (LOAD, " --simulate --requests 400")):
        found = [traffic(f"{each}{more}", load) for each in (limited, by_hand)]
        rows = [each.get("simulated", each["rows"]) for each in found]
        one, other = ([row for row in each if row["policy"] == "fixed"] for each in rows)
        assert len(one) > 0
        for key in one[0].keys() - {"improvement_factor"}:
            assert [row[key] for row in one] == [row[key] for row in other]
    printed = " ".join(text(limited, BURST).split())
    assert "Requests decoded together with one K at all batches: at most 16 at gamma 3." in printed
    assert "--max-cudagraph-capture-size moves the limit." in printed


def test_where_no_step_is_captured_eager_is_compared_with_eager() -> None:
    asked = "--engine vllm --slots 700 --gamma 3"
    found, free = (traffic(f"{asked} --graph-tokens {most}") for most in (16, 0))
    assert found["most_requests_per_second"] == free["most_requests_per_second"]
    assert [row["beyond_graphs"] for row in found["rows"]] == [False, False, True, True]
    assert "times beyond are not known well" in " ".join(text(f"{asked} --graph-tokens 16").split())


def test_a_run_beyond_the_graphs_is_named_and_left_out() -> None:
    runs = "--run gamma=0,tpot=9,batch=128 --run gamma=2,tpot=6,length=2.2,batch=128"
    beyond = "--run gamma=5,tpot=30,length=3,batch=128"
    load = f"{LOAD} {runs} --max-gamma 2"
    found, with_it = (text(f"--engine vllm {more}", load) for more in ("", beyond))
    assert "768 tokens a step are more than the 512" in " ".join(with_it.split())
    assert with_it.endswith(found)
