"""`specplan tree` as a user types it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from estimator.profiles.parts import Alpha, DraftAcceptance
from estimator.profiles.profile import Profile
from estimator.profiles.profile_file import write_profile
from tests.specplan.plan_inputs import LLAMA, PROFILE, run, run_json

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
RANKS = "--acceptance-by-rank 0.6,0.15,0.07,0.04"
RANKED = replace(
    PROFILE,
    draftings={
        "sampled": DraftAcceptance(
            Alpha(0.6), PROFILE.draftings["sampled"].blocks, acceptance_by_rank=(0.6, 0.15, 0.07)
        )
    },
)


def written(profile: Profile, folder: Path) -> str:
    write_profile(profile, folder / "profile.json")
    return f"--profile {folder / 'profile.json'}"


def test_json_holds_the_best_tree_the_best_chain_and_the_best_of_each_size() -> None:
    result = run_json(f"{RANKS} --c 0.05 --max-nodes 8", "tree")
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


def test_the_evidence_is_named() -> None:
    answer = run_json(f"{RANKS} --target-ms 19 --draft-ms 1.6 --max-nodes 8", "tree")
    assert answer["basis"] == "Rests on your acceptance by rank and your times."


@pytest.mark.parametrize(
    "cost",
    [
        "--c 0.05",
        "--target-ms 19 --draft-ms 1.6 --verify-ms 4=33 --overhead-ms 0.5",
        "--target-config {0}/target.json --draft-config {0}/draft.json --gpu h100 --batch 8 "
        "--cost-model roofline",
    ],
)
def test_the_rival_chain_is_the_one_of_plan(cost: str, tmp_path: Path) -> None:
    _configs(tmp_path)
    stated = cost.format(tmp_path)
    asked = f"--acceptance-by-rank 0.7,0.12 {stated} --max-nodes 16"
    chain = run_json(asked, "tree")["rows"][0]["chain"]
    plan = run_json(f"--alpha 0.7 {stated} --max-gamma 12")
    gamma = plan["test_gamma"] or plan["advised_gamma"]
    assert chain["depth"] == chain["nodes"] == gamma > 0
    for key in ("improvement_factor", "expected_tokens"):
        assert chain[key] == pytest.approx(plan["curve"][gamma - 1][key], rel=1e-9)


def test_dear_verification_makes_trees_small() -> None:
    times = "--target-ms 10 --draft-ms 1"
    small, large, dear = (
        run_json(f"{RANKS} {cost} --max-nodes 16", "tree")["rows"][0]["best"]["nodes"]
        for cost in (
            f"{times} --verify-ms 2=11 --verify-ms 8=40",
            "--c 0.1",
            f"{times} --draft-pass-ms 1,2,4,8,16",
        )
    )
    assert small < 4 < large
    assert dear < large


def test_sglang_gets_the_trees_sizes_and_specplan_the_tree_itself() -> None:
    asked = f"{RANKS} --c 0.05 --max-nodes 6"
    [row] = run_json(asked, "tree")["rows"]
    best, chain = row["best"], row["chain"]["nodes"]
    lines = run(f"{asked} --export sglang", "tree").stdout.splitlines()
    first, tree, count, flags, name, single = lines
    assert first == (
        f"# Not run yet: run the chain of K = {chain} and the tree of 6 first; take the # before "
        "the flags of one away for its run, and for good if it is the fastest."
    )
    assert (tree, name) == ("# the tree of 6:", f"# the chain of K = {chain}:")
    assert count == "# 7 draft tokens: the 6 of the tree and its root, the last token"
    assert f"--speculative-num-steps {chain} --speculative-eagle-topk 1 " in single
    assert flags.split() == [
        "#", "--speculative-algorithm", "STANDALONE", "--speculative-draft-model-path", "DRAFT",
        "--speculative-num-steps", str(best["depth"]),
        "--speculative-eagle-topk", str(best["widest"]),
        "--speculative-num-draft-tokens", "7",
    ]  # fmt: skip
    assert run_json(f"{asked} --export sglang", "tree")["export"].startswith("\n".join(lines[:4]))
    parents = ",".join(map(str, best["parents"]))
    assert run(f"{asked} --export specplan", "tree").stdout == (
        f"--draft 'MODEL tree:{parents}' --gamma {best['depth']} --draft-temperature 0\n"
    )
    # Where no branch is worth it, it is the plan's draft, which need not be the very fastest.
    deep = "--acceptance-by-rank 0.8,0.01 --target-ms 10 --draft-ms 0.5 --draft-pass-ms 0.5,1,2,4"
    deep += " --max-nodes 16"
    [row] = run_json(deep, "tree")["rows"]
    assert row["best"]["widest"] == 1
    chain = len(row["chain"]["parents"])
    assert run(f"{deep} --export specplan", "tree").stdout == (
        f"--draft MODEL --gamma {chain} --draft-temperature 0\n"
    )
    nothing = run("--acceptance-by-rank 0.1 --c 0.9 --export sglang", "tree").stdout
    assert nothing.startswith("# no tree pays")


@pytest.mark.parametrize(
    ("named", "loaded"),
    [
        ("--draft a/e --draft-kind eagle3", "EAGLE3 --speculative-draft-model-path a/e"),
        ("--draft-kind mtp", "EAGLE"),
        ("--draft a/b", "STANDALONE --speculative-draft-model-path a/b"),
    ],
)  # fmt: skip
def test_sglangs_flags_name_the_algorithm_and_the_draft(named: str, loaded: str) -> None:
    printed = run(f"{RANKS} --c 0.05 --max-nodes 6 --export sglang {named}", "tree").stdout
    flags = printed.splitlines()[3]
    assert flags.startswith(f"# --speculative-algorithm {loaded} --speculative-num-steps ")


def test_flags_are_comments_until_a_run_shows_that_drafts_gain() -> None:
    words = (
        f"{RANKS} --target-config {CONFIGS}/llama-3.1-8b.json --draft-config "
        f"{CONFIGS}/llama-3.2-1b.json --gpu h100 --batch 1,64 --max-nodes 12"
    )
    data = run_json(f"{words} --export sglang", "tree")
    gammas = sorted({row["test_gamma"] for row in data["rows"] if row["test_gamma"]})
    assert gammas
    *chains, last = [f"the chain of K = {gamma}" for gamma in gammas]
    named = " and ".join([", ".join(["run K = 0 (no speculation)", *chains]), last])
    assert f"{named} at batch 1 first, and plan again." in data["sentence"]
    of_runs = " and ".join(["K = 0 (no speculation)", *(f"K = {gamma}" for gamma in gammas)])
    assert f" whether to try a tree. Next: run {of_runs} at batch 1 " in data["sentence"]
    assert "The low end at batch 1 (" in data["sentence"]
    chain = data["rows"][0]["chain"]
    low, high = chain["improvement_factor_low"], chain["improvement_factor_high"]
    assert f"90 %: {low:.2f} to {high:.2f})" in data["sentence"]
    assert low < chain["improvement_factor"] < high
    assert data["sentence"].split(":")[0] in " ".join(run(words, "tree").stdout.split())
    lines = data["export"].splitlines()
    assert all(line.startswith("# ") for line in lines)
    assert lines[0].startswith(f"# Undecided: {named} at batch 1 first and plan again;")
    assert any(row["best"]["widest"] > 1 for row in data["rows"])


@pytest.mark.parametrize("tpot", ["4.5", "5.3", "6"])
def test_a_trees_block_is_never_faster_than_a_chain_of_its_runs(tpot: str) -> None:
    words = (
        f"{RANKS} --target-config {CONFIGS}/llama-3.1-8b.json --draft-config "
        f"{CONFIGS}/llama-3.2-1b.json --gpu h100 --max-nodes 32 --run gamma=0,tpot=7.1 "
        f"--run gamma=2,tpot={tpot},length=2.19"
    )
    (row,) = run_json(words, "tree")["rows"]
    blocks = [row[one]["expected_tokens"] / row[one]["improvement_factor"]
              for one in ("chain", "best")]  # fmt: skip
    assert row["best"]["depth"] >= row["chain"]["depth"]
    assert blocks == sorted(blocks)


def test_a_profile_says_rates_and_costs(tmp_path: Path) -> None:
    result = run_json(f"{written(RANKED, tmp_path)} --max-nodes 4", "tree")
    assert result["acceptance_by_rank"] == [0.6, 0.15, 0.07]
    # One node: two tokens' verification at the profile's 11 ms, a draft step and its overheads.
    one = result["rows"][0]["by_nodes"][0]
    assert one["improvement_factor"] == pytest.approx(1.6 * 10.1 / (1.2 + 11.0 + 0.3))


def _configs(folder: Path) -> None:
    (folder / "target.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    draft = LLAMA | {"num_hidden_layers": 2}
    (folder / "draft.json").write_text(json.dumps(draft), encoding="utf-8")


def test_a_load_has_a_row_for_each_batch_size(tmp_path: Path) -> None:
    _configs(tmp_path)
    asked = (
        f"{RANKS} --target-config {tmp_path}/target.json --draft-config {tmp_path}/draft.json "
        "--gpu h100 --cost-model roofline --batch 1,64,256 --max-nodes 12"
    )
    rows = run_json(asked, "tree")["rows"]
    assert [row["batch"] for row in rows] == [1, 64, 256]
    sizes = [row["best"]["nodes"] for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]
    for row in rows:
        # Hardly any speed of several sequences is published.
        speed = row["tokens_per_second"]
        assert (row["tokens_per_second_low"], row["tokens_per_second_high"]) == (
            pytest.approx((0.7 * speed, 1.3 * speed)) if row["batch"] == 1 else (None, None)
        )
    assert "Batch 256:" in run(asked, "tree").stdout
