"""`specplan tree` as a user types it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from test_plan_command import LLAMA, PROFILE

from estimator.profiles.profile import Alpha, Drafting
from estimator.profiles.profile_file import write_profile
from specplan.main import main

RATES = "0.6,0.15,0.07,0.04"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["tree", *arguments])


def run_json(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    loaded: dict[str, Any] = json.loads(result.stdout)
    return loaded


def test_json_holds_the_best_tree_the_best_chain_and_the_best_of_each_size() -> None:
    result = run_json("--acceptance-by-rank", RATES, "--c", "0.05", "--max-nodes", "8")
    assert result["acceptance_by_rank"] == [0.6, 0.15, 0.07, 0.04]
    [row] = result["rows"]
    assert row["batch"] == 1
    assert [plan["nodes"] for plan in row["by_nodes"]] == list(range(1, 9))
    assert row["best"] in row["by_nodes"]
    assert row["chain"]["widest"] == 1
    # Where passes over any number of tokens are free but for the draft's, trees beat chains.
    assert row["best"]["improvement_factor"] > row["chain"]["improvement_factor"]
    gain = row["best"]["improvement_factor"] / row["chain"]["improvement_factor"]
    assert row["gain_percent"] == pytest.approx(100 * (gain - 1))


def test_dear_verification_makes_trees_small() -> None:
    costs = ("--target-ms", "10", "--draft-ms", "1", "--verify-ms", "2=11", "--verify-ms", "8=40")
    small = run_json("--acceptance-by-rank", RATES, *costs)["rows"][0]["best"]
    large = run_json("--acceptance-by-rank", RATES, "--c", "0.1")["rows"][0]["best"]
    assert small["nodes"] < 4 < large["nodes"]
    dear = run_json(
        "--acceptance-by-rank", RATES, "--target-ms", "10", "--draft-ms", "1",
        "--draft-pass-ms", "1,2,4,8,16",
    )["rows"][0]["best"]  # fmt: skip
    assert dear["nodes"] < large["nodes"]


def test_text_has_a_line_a_size_and_says_what_is_best() -> None:
    text = run("--acceptance-by-rank", RATES, "--c", "0.05", "--max-nodes", "6").stdout
    assert "nodes  depth  tokens per call  speed-up" in text
    assert "a tree of 6 (" in text
    assert "over the chain of" in text
    assert "do not speculate" in run("--acceptance-by-rank", "0.1", "--c", "0.9").stdout
    assert "gains less than 1 % over the chain" in run(
        "--acceptance-by-rank", "0.8", "--c", "0.05"
    ).stdout


def test_a_tree_of_all_the_nodes_it_may_have_is_told() -> None:
    asked = ("--acceptance-by-rank", RATES, "--max-nodes", "6")
    warned = run(*asked, "--c", "0.05").stderr
    assert " ".join(warned.split()) == (
        "Warning: the best tree has all the nodes it may, --max-nodes 6; verification is free in "
        "these costs, so that more always gain"
    )
    dear = ("--target-ms", "10", "--draft-ms", "1", "--verify-ms", "2=15")
    assert run(*asked, *dear).stderr == ""


def test_sglang_gets_depth_width_and_what_is_verified_and_specplan_the_tree_itself() -> None:
    asked = ("--acceptance-by-rank", RATES, "--c", "0.05", "--max-nodes", "6")
    best = run_json(*asked)["rows"][0]["best"]
    assert run(*asked, "--export", "sglang").stdout.split() == [
        "--speculative-num-steps", str(best["depth"]),
        "--speculative-eagle-topk", str(best["widest"]),
        "--speculative-num-draft-tokens", "7",
    ]  # fmt: skip
    parents = ",".join(map(str, best["parents"]))
    assert run(*asked, "--export", "specplan").stdout == (
        f"--draft 'MODEL tree:{parents}' --gamma {best['depth']} --draft-temperature 0\n"
    )
    nothing = run("--acceptance-by-rank", "0.1", "--c", "0.9", "--export", "sglang").stdout
    assert nothing.startswith("# no tree pays")


def test_a_profile_says_rates_and_costs(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    ranked = Drafting(
        Alpha(0.6), PROFILE.draftings["sampled"].blocks, acceptance_by_rank=(0.6, 0.15, 0.07)
    )
    write_profile(replace_drafting(ranked), path)
    result = run_json("--profile", str(path), "--max-nodes", "4")
    assert result["acceptance_by_rank"] == [0.6, 0.15, 0.07]
    # One node: two tokens' verification at the profile's 11 ms, a draft step and its overheads.
    one = result["rows"][0]["by_nodes"][0]
    assert one["improvement_factor"] == pytest.approx(1.6 * 10.1 / (1.2 + 11.0 + 0.3))


def replace_drafting(drafting: Drafting) -> Any:
    from dataclasses import replace

    return replace(PROFILE, draftings={"sampled": drafting})


def test_a_load_has_a_row_for_each_batch_size(tmp_path: Path) -> None:
    (tmp_path / "target.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    draft = LLAMA | {"num_hidden_layers": 2}
    (tmp_path / "draft.json").write_text(json.dumps(draft), encoding="utf-8")
    asked = (
        "--acceptance-by-rank", RATES, "--target-config", str(tmp_path / "target.json"),
        "--draft-config", str(tmp_path / "draft.json"), "--gpu", "h100", "--batch", "1,64,256",
        "--max-nodes", "12",
    )  # fmt: skip
    rows = run_json(*asked)["rows"]
    assert [row["batch"] for row in rows] == [1, 64, 256]
    sizes = [row["best"]["nodes"] for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]
    for row in rows:
        spread = row["tokens_per_second_low"], row["tokens_per_second_high"]
        # Of several sequences hardly any speed is published.
        speed = row["tokens_per_second"]
        assert spread == (
            pytest.approx((0.7 * speed, 1.3 * speed)) if row["batch"] == 1 else (None, None)
        )
    assert "Batch 256:" in run(*asked).stdout
    refused = run(*asked, "--export", "sglang")
    assert "--export needs a single batch size" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--c", "0.1"], "give --acceptance-by-rank or --profile, got neither"),
        (["--acceptance-by-rank", "0.7,0.5", "--c", "0.1"],
         "acceptance must be rates by rank whose sum is at most 1, got 2 of sum 1.2"),
        (["--acceptance-by-rank", "1.2", "--c", "0.1"],
         "Invalid value for '--acceptance-by-rank': must lie in [0, 1], got 1.2"),
        (["--acceptance-by-rank", RATES], "give the cost: --c, or --target-ms"),
        (["--acceptance-by-rank", RATES, "--c", "0.1,0.2"],
         "trees take one c and one context, got 2 costs"),
        (["--acceptance-by-rank", RATES, "--c", "0.1", "--draft-pass-ms", "1,2"],
         "--draft-pass-ms needs times, such as --target-ms"),
        (["--acceptance-by-rank", RATES, "--c", "0.1", "--max-nodes", "0"],
         "Invalid value for '--max-nodes'"),
        (["--acceptance-by-rank", RATES, "--c", "0.1", "--max-nodes", "1000"],
         "1000 is not in the range 1<=x<=256"),
        (["--acceptance-by-rank", RATES, "--c", "0.1", "--max-depth", "0"],
         "Invalid value for '--max-depth'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_status_2(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_profile_without_ranks_is_refused(tmp_path: Path) -> None:
    write_profile(PROFILE, tmp_path / "profile.json")
    result = run("--profile", str(tmp_path / "profile.json"))
    assert result.exit_code == 2
    assert "the profile must hold acceptance_by_rank, got none" in result.stderr
