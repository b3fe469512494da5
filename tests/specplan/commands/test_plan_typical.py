"""`specplan plan --typical`: published acceptance, used only if requested, and named."""

import csv
from pathlib import Path

import pytest

from simulator.acceptance.typical import MOST_NAMED, published_lengths
from tests.specplan.plan_inputs import run, run_json
from tests.specplan.refusals import assert_refused

FROM = ("stated", "counts", "tokens a chunk")
PUBLISHED = Path(__file__).parents[3] / "benchmarks" / "published_speculation.csv"


def test_every_length_is_one_that_its_source_published() -> None:
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        known = {
            (row["source"], row["draft"], row["target"], row["dataset"], int(row["gamma"]),
             float(row["length"]))
            for row in csv.DictReader(file)
            if row["gamma"].isdigit() and row["length"] and row["length_from"] in FROM
        }  # fmt: skip
    listed = [each for each in published_lengths().values() if "InferenceX" not in each.source]
    assert len(listed) > 15
    for each in listed:
        for gamma, length in each.lengths.items():
            assert (
                each.source, each.draft, each.target, each.workload, gamma, length
            ) in known  # fmt: skip


def test_the_answer_names_the_lengths_and_their_source() -> None:
    asked = "--typical eagle3-llama-3.1-8b-chat --c 0.05"
    words = " ".join(run(asked).stdout.split())
    assert "published by sgl-project/SpecForge (2025-12-23). Yours will differ" in words
    plan = run_json(asked)
    assert any("published by sgl-project/SpecForge" in note for note in plan["notes"])
    assert plan["acceptance"]["observed_gamma"] == 7
    lengths = published_lengths()["eagle3-llama-3.1-8b-chat"].lengths
    for gamma, length in lengths.items():
        assert plan["curve"][gamma - 1]["expected_tokens"] == pytest.approx(length, rel=0.05)


def test_lengths_by_gamma_of_drafts_of_2026_are_known() -> None:
    """MiniMax-M3's EAGLE-3 head, as golden_al_distribution/minimaxm3_eagle3.yaml has them."""
    found = [each for each in published_lengths().values() if "InferenceX" in each.source]
    assert len({(each.target, each.draft) for each in found}) == 9
    assert all(sorted(each.lengths) == list(range(1, 9)) for each in found)
    thinking = published_lengths()["eagle3-minimax-m3-code-thinking"].lengths
    assert list(thinking.values()) == [1.78, 2.38, 2.83, 3.11, 3.35, 3.45, 3.53, 3.74]


def test_a_block_drafters_length_is_the_one_published_at_its_gamma() -> None:
    """Longer blocks are other blocks: 3.77 tokens a call at gamma 6, 3.73 at 7, 3.47 at 8."""
    curve = run_json("--typical dspark-deepseek-v4-pro-0813-code-thinking --c 0.02")["curve"]
    assert [curve[gamma - 1]["expected_tokens"] for gamma in (6, 7, 8)] == pytest.approx(
        [3.77, 3.73, 3.47]
    )


@pytest.mark.parametrize(
    ("name", "temperature", "sampling", "words"),
    [
        ("dspark-deepseek-v4-pro-code-direct", 1.0, "sampled", "temperature 1, sampled drafts"),
        ("eagle3-kimi-k2.5-code-direct", 0.6, None, "temperature 0.6, draft sampling not stated"),
        ("model-apertus-v1.5-70b-code", 0.0, None, "temperature 0, draft sampling not stated"),
        (
            "eagle3-llama-3.1-8b-chat",
            None,
            None,
            "temperature not stated, draft sampling not stated",
        ),
    ],
)
def test_a_plan_says_for_which_temperature_and_drafts_a_published_length_holds(
    name: str, temperature: float | None, sampling: str | None, words: str
) -> None:
    plan = run_json(f"--typical {name} --c 0.05")
    assert (plan["temperature"], plan["draft_sampling"]) == (temperature, sampling)
    assert any(f"({words})" in note for note in plan["notes"])
    flags = run(f"--typical {name} --c 0.05 --export vllm").stdout
    assert ('"draft_sample_method": "probabilistic"' in flags) == (sampling == "sampled")


def test_an_unknown_name_is_refused_with_the_nearest_names() -> None:
    refused = run("--typical eagle3-llama-70b --c 0.05")
    assert_refused(refused, "(eagle3-llama-3.3-70b-chat, eagle3-llama-3.3-70b-code, ")
    assert sum(name in refused.stderr for name in published_lengths()) == MOST_NAMED
