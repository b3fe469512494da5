"""`specplan plan` as a user types it: numbers, tables, exports and everything mistyped."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from refusals import assert_refused

from estimator.profiles.profile import SCHEMA, VERSION, Alpha, Drafting, Estimate, Profile, Setup
from estimator.profiles.profile_file import write_profile
from simulator.acceptance.block_verification import block_acceptance
from simulator.acceptance.conversions import accepted_fraction
from simulator.acceptance.iid import Iid
from simulator.acceptance.recorded import Recorded
from simulator.acceptance.replay import block_lengths
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.plan import plan
from simulator.cost.curves import CostModel
from specplan.main import main

KEYS = {
    "alpha", "alpha_iid", "c", "c_hat", "optimal_gamma", "gamma", "expected_tokens",
    "improvement_factor", "improvement_factor_theorem8", "operations_factor",
    "memory_access_factor", "accepted_fraction", "tokens_per_second",
    "baseline_tokens_per_second", "oracle_improvement_factor", "lower_bound", "break_even_alpha",
    "break_even_c", "curve",
}  # fmt: skip

MS = ["--target-ms", "19", "--draft-ms", "1.6"]
COST_MS = [
    "--target-ms", "10", "--draft-ms", "1.2", "--verify-ms", "3=12", "--overhead-ms", "0.3",
]  # fmt: skip

RATES = {
    "sampled": np.random.default_rng(1).random(60) ** 0.5,
    "argmax": (np.random.default_rng(2).random(60) < 0.4).astype(float),
}
RATIOS = np.random.default_rng(3).exponential(size=60)
JOINTLY = {
    gamma: tuple((block_lengths(block_acceptance(RATIOS, 16), gamma) / 60).tolist())
    for gamma in range(1, 17)
}
BLOCKS = {
    name: {
        gamma: tuple((block_lengths(rates, gamma) / 60).tolist()) for gamma in range(1, 17)
    }
    for name, rates in RATES.items()
}
PROFILE = Profile(
    schema=SCHEMA,
    version=VERSION,
    alpha=Alpha(0.62),
    draft_sampling="sampled",
    draftings={
        "sampled": Drafting(
            Alpha(0.62),
            BLOCKS["sampled"],
            blocks_jointly=JOINTLY,
            alpha_by_lenience={1.0: 0.62, 0.5: 0.8},
        ),
        "argmax": Drafting(Alpha(0.4), BLOCKS["argmax"]),
    },
    setup=Setup(target="big", draft="some/draft"),
    target_ms={1: 10.0, 3: 12.0},
    draft_ms=1.2,
    overhead_ms=0.3,
    baseline_overhead_ms=0.1,
    c=Estimate(0.12, 0.11, 0.13),
    c_hat=0.04,
    optimal_gamma=3,
)
COSTS = CostModel(
    target_seconds={1: 0.010, 3: 0.012}, draft_seconds=0.0012, overhead_seconds=0.0003,
    baseline_overhead_seconds=0.0001,
)  # fmt: skip

LLAMA: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
    "vocab_size": 128256, "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", *arguments])


def run_json(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    loaded: dict[str, Any] = json.loads(result.stdout, parse_constant=_refuse)
    return loaded


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


@pytest.fixture
def profile(tmp_path: Path) -> str:
    path = tmp_path / "profile.json"
    write_profile(PROFILE, path)
    return str(path)


@pytest.fixture
def gpu(tmp_path: Path) -> list[str]:
    """Options of an 8B target and a draft of a quarter of its layers on one GPU."""
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    draft = tmp_path / "draft.json"
    draft.write_text(json.dumps(LLAMA | {"num_hidden_layers": 2}), encoding="utf-8")
    return [
        "--target-config", str(tmp_path / "target"), "--draft-config", str(draft), "--gpu", "h100",
    ]  # fmt: skip


def test_json_has_the_keys_of_the_contract_and_only_finite_numbers() -> None:
    result = run_json("--alpha", "0.8", "--c", "0.05")
    assert set(result) >= KEYS
    assert [row["gamma"] for row in result["curve"]] == list(range(1, 33))
    assert all(
        set(row)
        == {"gamma", "expected_tokens", "improvement_factor", "operations_factor", "extrapolated"}
        for row in result["curve"]
    )
    assert result["optimal_gamma"] == result["gamma"] == 8
    assert result["tokens_per_second"] is None
    assert result["baseline_tokens_per_second"] is None
    assert result["alpha_iid"] is None
    assert type(result["curve"][0]["gamma"]) is int


def test_json_is_all_that_stdout_holds_and_warnings_go_to_stderr() -> None:
    result = run("--alpha", "1", "--c", "0", "--max-gamma", "4", "--json")
    assert json.loads(result.stdout)["oracle_improvement_factor"] is None  # infinite
    assert result.stderr == (
        "Warning: the best gamma is limited by --max-gamma 4: a longer draft gains\n"
    )


def test_numbers_are_those_of_the_library() -> None:
    result = run_json("--alpha", "0.8", *MS, "--verify-ms", "4=33", "--verify-ms", "8=60",
                      "--overhead-ms", "2", "--gamma", "5", "--c-hat", "0.02")  # fmt: skip
    costs = CostModel(
        target_seconds={1: 0.019, 4: 0.033, 8: 0.060}, draft_seconds=0.0016, overhead_seconds=0.002
    )
    expected = plan(Iid(0.8), costs, c_hat=0.02, gamma=5)
    for key in KEYS - {"alpha_iid", "curve"}:
        assert result[key] == pytest.approx(getattr(expected, key), nan_ok=True), key
    assert result["gamma"] == 5
    assert result["optimal_gamma"] != 5
    assert [row["improvement_factor"] for row in result["curve"]] == pytest.approx(
        expected.curve.improvement_factor.tolist()
    )


def test_theorem8_quantities_vanish_once_verification_has_a_price() -> None:
    free = run_json("--alpha", "0.8", *MS)
    priced = run_json("--alpha", "0.8", *MS, "--verify-ms", "4=33")
    for key in ("oracle_improvement_factor", "lower_bound"):
        assert free[key] is not None
        assert priced[key] is None
    assert free["improvement_factor"] == free["improvement_factor_theorem8"]
    assert priced["improvement_factor"] < priced["improvement_factor_theorem8"]
    assert priced["baseline_tokens_per_second"] == pytest.approx(1000 / 19)


@pytest.mark.parametrize(
    ("costs", "phrase"),
    [
        (["--c", "0.05"], "free"),
        (MS, "free"),
        ([*MS, "--overhead-ms", "0"], "free"),
        ([*MS, "--overhead-ms", "2"], "free"),
        ([*MS, "--verify-ms", "4=33"], "at its own cost"),
        ([*MS, "--overhead-ms", "2", "--verify-ms", "4=33"], "at its own cost"),
    ],
)
def test_the_text_says_what_verification_is_taken_to_cost(costs: list[str], phrase: str) -> None:
    assert f", verification {phrase}, c_hat " in run("--alpha", "0.8", *costs).stdout
    free = run_json("--alpha", "0.8", *costs)["verification_free"]
    assert free is phrase.startswith("free")


def test_not_speculating_is_gamma_zero_with_factors_of_one() -> None:
    result = run_json("--alpha", "0.05", "--c", "0.2")
    assert (result["optimal_gamma"], result["gamma"]) == (0, 0)
    assert result["accepted_fraction"] is None
    for key in ("improvement_factor", "improvement_factor_theorem8", "operations_factor",
                "memory_access_factor", "expected_tokens"):  # fmt: skip
        assert result[key] == 1


@pytest.mark.parametrize("alpha", [0.2, 0.6, 0.95])
def test_counts_lead_back_to_the_alpha_they_came_from(alpha: float) -> None:
    fraction = str(float(accepted_fraction(alpha, 4)))
    efficiency = str(float(expected_tokens(alpha, 4)))
    for option, value in (("--accepted-fraction", fraction), ("--block-efficiency", efficiency)):
        result = run_json(option, value, "--at-gamma", "4", "--c", "0.05")
        assert result["alpha"] == pytest.approx(alpha, abs=1e-9)
        assert result["alpha_iid"] == result["alpha"]


@pytest.mark.parametrize(("typed", "plain"), [("49.7%", "0.497"), ("171/300", "0.57")])
def test_a_fraction_may_be_typed_as_a_server_prints_it(typed: str, plain: str) -> None:
    rest = ("--at-gamma", "4", "--c", "0.05")
    assert run_json("--accepted-fraction", typed, *rest) == run_json(
        "--accepted-fraction", plain, *rest
    )
    assert run_json("--alpha", typed, "--c", "0.05") == run_json("--alpha", plain, "--c", "0.05")


def test_operations_say_when_c_stands_in_for_c_hat() -> None:
    assumed = run_json("--alpha", "0.8", "--c", "0.05")
    stated = run_json("--alpha", "0.8", "--c", "0.05", "--c-hat", "0.05")
    assert (assumed["c_hat"], assumed["c_hat_is_c"]) == (0.05, True)
    assert (stated["c_hat"], stated["c_hat_is_c"]) == (0.05, False)
    assert "c_hat taken to be c\n" in run("--alpha", "0.8", "--c", "0.05").stdout
    assert "taken" not in run("--alpha", "0.8", "--c", "0.05", "--c-hat", "0.05").stdout


def test_ranges_and_lists_give_every_pair() -> None:
    rows = run_json("--alpha", "0.1:0.9:0.1", "--c", "0.02,0.1")["rows"]
    assert [(row["alpha"], row["c"]) for row in rows] == [
        (i / 10, c) for i in range(1, 10) for c in (0.02, 0.1)
    ]
    assert all(set(row) >= KEYS - {"curve"} and "curve" not in row for row in rows)
    single = run_json("--alpha", "0.9", "--c", "0.1")
    del single["curve"]
    assert rows[-1] == single


def test_table_marks_the_best_row_and_advises() -> None:
    result = run("--alpha", "0.8", "--c", "0.05")
    (best,) = [line for line in result.stdout.splitlines() if line.endswith("<- best")]
    (near,) = [line for line in result.stdout.splitlines() if line.endswith("<- within 1 %")]
    assert near.split()[:4] == ["7", "4.16", "3.08", "2.01"]
    assert best.split()[:4] == ["8", "4.33", "3.09", "2.17"]
    assert "Draft 7 tokens per block: 3.08 times the speed" in result.stdout
    assert "within 1 % of the best, gamma 8 (3.09 times)." in result.stdout
    exact = run("--alpha", "0.8", "--c", "0.05", "--near", "0")
    assert "Draft 8 tokens per block: 3.09 times the speed" in exact.stdout
    assert "Gamma 6 to 10 come within 2 % of that." in result.stdout
    assert result.stderr == ""


def test_text_for_who_should_not_speculate() -> None:
    result = run("--alpha", "0.1", "--c", "0.3", "--gamma", "2")
    assert "Do not speculate" in result.stdout
    assert "Gamma 2 gives 0.69 times the speed of the target alone." in result.stdout
    assert "Speculation pays above alpha 0.3 with this c,\nbelow c 0.1" in result.stdout
    hopeless = run("--alpha", "0.1", *MS, "--verify-ms", "2=60")
    assert "pays at no alpha with these costs,\nat no c with this alpha" in hopeless.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--alpha", "0.5", "--c", "0"],
         "at any alpha above 0 with this c, below c 0.5 with this alpha"),
        (["--alpha", "0", "--c", "0"],
         "at any alpha above 0 with this c, at no c with this alpha"),
        (["--alpha", "1", "--c", "1"], "at no alpha with this c, below c 1 with this alpha"),
        (["--alpha", "0.5", "--c", "2"], "at no alpha with this c, below c 0.5 with this alpha"),
        (["--alpha", "0.5", "--target-ms", "10", "--draft-ms", "0", "--overhead-ms", "2"],
         "above alpha 0.167 with these costs, below c 0.3 with this alpha"),
        (["--alpha", "0.1", "--target-ms", "10", "--draft-ms", "0", "--overhead-ms", "5"],
         "above alpha 0.336 with these costs, at no c with this alpha"),
        (["--alpha", "1", "--target-ms", "1000", "--draft-ms", "500", "--verify-ms", "2=1500"],
         "at no alpha with these costs, below c 0.5 with this alpha"),
        (["--alpha", "0.9", "--target-ms", "10", "--draft-ms", "1", "--verify-ms", "2=40"],
         "at no alpha with these costs, at no c with this alpha"),
    ],
)  # fmt: skip
def test_text_says_where_speculation_pays(arguments: list[str], sentence: str) -> None:
    last = " ".join(run(*arguments, "--max-gamma", "4").stdout.splitlines()[-2:])
    assert last == f"Speculation pays {sentence}."


def test_text_fits_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    write_profile(PROFILE, path)
    given = [["--acceptance-by-position", "0.9,0.54,0.27", *MS], ["--profile", str(path)]]
    for arguments in given:
        assert max(map(len, run(*arguments).stdout.splitlines())) <= 80


def test_text_where_even_a_draft_that_is_never_accepted_pays(tmp_path: Path) -> None:
    """The target alone spends more beside its pass on each token than a block does."""
    path = tmp_path / "profile.json"
    never = Drafting(Alpha(0.0), {1: (0.1, 0.9)})
    profile = replace(PROFILE, alpha=Alpha(0.0), draftings={"sampled": never})
    write_profile(replace(profile, baseline_overhead_ms=5.0), path)
    result = run("--profile", str(path))
    assert "Draft 1 token per block" in result.stdout
    assert "Speculation pays at any alpha with these costs,\nbelow c " in result.stdout


def test_text_for_another_gamma_than_the_best_names_both() -> None:
    result = run("--alpha", "0.8", *MS, "--gamma", "2")
    assert "The best gamma is 6, with" in result.stdout
    assert "Gamma 2 gives 2.09 times the speed" in result.stdout
    assert "without a draft 52.6." in result.stdout


def test_rows_as_text_have_one_line_each() -> None:
    result = run("--alpha", "0.1,0.8", "--c", "0.2", "--gamma", "3")
    header, *lines, last = result.stdout.splitlines()
    assert header.split() == [
        "alpha", "c", "best", "gamma", "tokens/call", "speed-up", "operations",
    ]  # fmt: skip
    assert [line.split()[:4] for line in lines] == [
        ["0.1", "0.2", "0", "3"],
        ["0.8", "0.2", "4", "3"],
    ]
    assert last == "Best gamma 0: do not speculate."


def test_the_cap_warning_counts_rows() -> None:
    result = run("--alpha", "0.3,0.8", "--c", "0.1", "--max-gamma", "2")
    assert "in 1 of 2 rows" in result.stderr


def test_export_prints_flags_and_nothing_else() -> None:
    result = run("--alpha", "0.8", "--c", "0.05", "--export", "vllm")
    assert result.stdout == (
        "--speculative-config "
        '\'{"method": "draft_model", "model": "DRAFT", "num_speculative_tokens": 7}\'\n'
    )
    as_json = run_json("--alpha", "0.8", "--c", "0.05", "--export", "vllm")
    assert as_json["export"] == result.stdout.strip()
    assert "export" not in run_json("--alpha", "0.8", "--c", "0.05")
    own = run("--alpha", "0.8", "--c", "0.05", "--gamma", "3", "--export", "transformers")
    assert "num_assistant_tokens = 3\n" in own.stdout


def test_a_profile_is_planned_by_replay_with_the_iid_number_beside_it(profile: str) -> None:
    result = run_json("--profile", profile)
    expected = plan(Recorded(0.62, BLOCKS["sampled"]), COSTS, c_hat=0.04)
    for key in KEYS - {"alpha_iid", "curve"}:
        assert result[key] == pytest.approx(getattr(expected, key)), key
    assert result["improvement_factor"] != pytest.approx(result["improvement_factor_iid"])
    iid = run_json("--alpha", "0.62", *COST_MS, "--gamma", str(result["gamma"]))
    assert result["acceptance"]["kind"] == "replay"
    assert result["acceptance"]["observed_gamma"] == 16
    assert result["draft_sampling"] == "sampled"
    # The same but for the baseline's overhead, which no option states.
    assert result["improvement_factor_iid"] == pytest.approx(
        iid["improvement_factor"] * COSTS.baseline_seconds / COSTS.step_seconds
    )
    assert [row["extrapolated"] for row in result["curve"]] == [gamma > 2 for gamma in range(1, 33)]
    assert result["c_hat_is_c"] is False
    assert "i.i.d." in run("--profile", profile).stdout


def test_a_profiles_acceptances_meet_other_hardware(profile: str) -> None:
    other = run_json("--profile", profile, *COST_MS, "--verify-ms", "9=30")
    costs = CostModel({1: 0.010, 3: 0.012, 9: 0.030}, 0.0012, 0.0003)
    expected = plan(Recorded(0.62, BLOCKS["sampled"]), costs)
    assert other["improvement_factor"] == pytest.approx(expected.improvement_factor)
    assert other["acceptance"]["kind"] == "replay"


def test_export_is_what_the_table_advises(profile: str) -> None:
    """The way of drafting is the server's own where its flags cannot say it."""
    servers = {"transformers": "sampled", "sglang": "argmax", "vllm": "sampled"}
    for server, sampling in servers.items():
        result = run_json("--profile", profile, "--export", server)
        table = run_json("--profile", profile, "--draft-sampling", sampling)
        assert result["draft_sampling"] == sampling
        assert result["gamma_near"] == table["gamma_near"] > 0
        assert str(result["gamma_near"]) in result["export"]
    assert "some/draft" in run("--profile", profile, "--export", "sglang").stdout
    assert "argmax drafts, as sglang makes them" in run(
        "--profile", profile, "--export", "sglang"
    ).stderr
    for sampling, method in (("sampled", "probabilistic"), ("argmax", "greedy")):
        flags = run("--profile", profile, "--draft-sampling", sampling, "--export", "vllm").stdout
        assert f'"draft_sample_method": "{method}"' in flags


def test_a_profile_without_the_drafts_that_a_server_makes_is_said(
    profile: str, tmp_path: Path
) -> None:
    path = tmp_path / "sampled.json"
    write_profile(replace(PROFILE, draftings={"sampled": PROFILE.draftings["sampled"]}), path)
    result = run("--profile", str(path), "--export", "sglang")
    assert "sglang drafts by argmax; the profile has sampled drafts alone" in result.stderr
    asked = run("--profile", str(path), "--draft-sampling", "argmax")
    assert asked.exit_code == 2
    assert "must hold drafts that are argmax, got sampled" in asked.stderr


def test_a_profile_of_a_busy_machine_says_so_wherever_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "busy.json"
    write_profile(replace(PROFILE, quiet=False), path)
    result = run("--profile", str(path))
    assert "not quiet" in result.stdout
    assert "not quiet" in result.stderr
    assert "not quiet" in run("--profile", str(path), "--export", "vllm").stderr
    assert run_json("--profile", str(path))["quiet"] is False


def test_rates_by_position_as_servers_print_them() -> None:
    result = run_json("--acceptance-by-position", "0.705,0.494,0.293", "--c", "0.05")
    assert result["curve"][2]["expected_tokens"] == pytest.approx(2.492)
    assert result["acceptance"] == {
        "kind": "by_position", "observed_gamma": 3, "iid_consistent": True,
        "iid_error": pytest.approx(-0.0282, abs=1e-3), "iid_error_gamma": 2,
    }  # fmt: skip
    assert result["alpha_iid"] == result["alpha"] == pytest.approx(1.492 / 2.199)
    conditional = run_json(
        "--acceptance-by-position", "0.9,0.6,0.5", "--conditional", "--c", "0.05"
    )
    assert conditional["curve"][1]["expected_tokens"] == pytest.approx(1 + 0.9 + 0.54)
    text = run("--acceptance-by-position", "0.9,0.6,0.5", "--conditional", "--c", "0.05").stdout
    assert "Acceptances are not i.i.d.: with this alpha at every position tokens per" in text
    assert "10 % too low at gamma 1, and gamma" in " ".join(text.split())
    assert "No position beyond" not in text   # gamma 3, which was observed, is advised
    assert "+ beyond the observed gamma: extrapolated" in text


def test_a_pass_over_more_tokens_that_costs_less_must_be_forced() -> None:
    odd, forced, fine = (
        run("--alpha", "0.8", *MS, "--verify-ms", f"4={ms}", *more)
        for ms, more in ((10, []), (10, ["--force"]), (19, []))
    )
    assert odd.exit_code == 2
    assert "--verify-ms must not be below --target-ms 19, the time of one token" in odd.stderr
    assert (forced.exit_code, fine.exit_code) == (0, 0)


def test_the_json_object_is_written_to_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    result = run("--alpha", "0.8", "--c", "0.05", "-o", str(path))
    assert "Draft 7 tokens" in result.stdout
    assert json.loads(path.read_text()) == run_json("--alpha", "0.8", "--c", "0.05")


@pytest.mark.parametrize(
    ("draft", "exported"),
    [
        ("hf:lookup", '"model": "lookup"'),
        ("embedded", "weights/draft"),
        ("exit:4", None),
        ("ngram:m.arpa", None),
        ("lookup+ngram", None),
        ("lookup:2", '"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 2'),
    ],
)
def test_a_profile_exports_drafts_that_servers_can_load(
    draft: str, exported: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "changed.json"
    write_profile(replace(PROFILE, setup=Setup(target="big", draft=draft)), path)
    result = run("--profile", str(path), "--gamma", "4", "--export", "vllm")
    if exported is None:
        assert result.exit_code == 2
        assert f"needs a draft model, got a profile of {draft}" in result.stderr
    else:
        assert exported in result.stdout


def test_stated_costs_go_before_those_of_the_profile(profile: str) -> None:
    result = run_json("--profile", profile, "--c", "0.05")
    assert (result["alpha"], result["c"], result["c_hat"]) == (0.62, 0.05, 0.04)
    assert result["tokens_per_second"] is None
    assert run_json("--profile", profile, *MS)["c"] == pytest.approx(1.6 / 19)


def test_lenience_raises_alpha_and_says_that_it_is_not_lossless(profile: str) -> None:
    assert run_json("--profile", profile, "--lenience", "0.5")["alpha"] == 0.8
    assert run_json("--profile", profile, "--lenience", "1")["alpha"] == 0.62
    # Halfway between 1 and 2 in 1/l.
    halfway = run_json("--profile", profile, "--lenience", str(2 / 3))
    assert halfway["alpha"] == pytest.approx(0.71)
    assert "not lossless" in run("--profile", profile, "--lenience", "0.5").stdout
    assert "not lossless" not in run("--profile", profile, "--lenience", "1").stdout


def test_block_verification_is_planned_by_its_own_replay_and_exported(profile: str) -> None:
    asked = ("--profile", profile, "--gamma", "4")
    whole, single = run_json(*asked, "--verification", "block"), run_json(*asked)
    assert (whole["verification"], single["verification"]) == ("block", "token")
    assert whole["expected_tokens"] == pytest.approx(1 / sum(JOINTLY[4]))
    assert single["expected_tokens"] == pytest.approx(1 / sum(BLOCKS["sampled"][4]))
    exported = run(*asked, "--verification", "block", "--export", "vllm").stdout
    assert '"rejection_sample_method": "block"' in exported
    assert "rejection_sample_method" not in run(*asked, "--export", "vllm").stdout


def test_block_verification_is_refused_where_it_cannot_be(profile: str) -> None:
    asked = ("--profile", profile, "--verification", "block")
    for more, message in (
        (("--export", "sglang"), "verification must be token for sglang, got block"),
        (("--lenience", "0.5"), "lenience must be 1 under block verification, got 0.5"),
        (("--draft-sampling", "argmax"), "must hold blocks_jointly to plan block verification"),
    ):
        result = run(*asked, *more)
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_profile_of_block_verification_is_planned_as_it_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    write_profile(replace(PROFILE, verification="block"), path)
    asked = ("--profile", str(path), "--draft-sampling", "sampled")
    assert run_json(*asked)["verification"] == "block"
    assert run_json(*asked, "--export", "vllm")["verification"] == "block"
    assert run_json(*asked, "--export", "llama.cpp")["verification"] == "token"


def test_roofline_gives_one_row_per_batch_size(gpu: list[str]) -> None:
    rows = run_json(*gpu, "--alpha", "0.7", "--batch", "1,8,512")["rows"]
    assert [row["batch"] for row in rows] == [1, 8, 512]
    factors = [row["improvement_factor"] for row in rows]
    assert factors[0] > 1.5
    assert factors[2] < min(factors[:2])
    assert rows[1]["baseline_tokens_per_second"] > 4 * rows[0]["baseline_tokens_per_second"]
    assert rows[0]["c_hat"] != rows[0]["c"]
    text = run(*gpu, "--alpha", "0.7", "--batch", "1,8").stdout
    assert "roofline of h100" in text
    assert "batch" in text


def test_roofline_of_one_batch_is_a_full_plan(gpu: list[str]) -> None:
    result = run_json(*gpu, "--alpha", "0.7")
    assert (result["batch"], len(result["curve"])) == (1, 32)
    longer = run_json(*gpu, "--alpha", "0.7", "--context", "8192", "--dtype", "float16")
    assert longer["baseline_tokens_per_second"] < result["baseline_tokens_per_second"]
    launched = run_json(*gpu, "--alpha", "0.7", "--layer-overhead-us", "300")
    assert launched["baseline_tokens_per_second"] < result["baseline_tokens_per_second"]


def test_what_does_not_fit_is_marked_where_its_number_would_stand(gpu: list[str]) -> None:
    big = [*gpu[:-1], "l4", "--alpha", "0.7", "--batch", "64", "--context", "4096"]
    assert "Does NOT fit: batch 64 at context 4096 needs" in run(*big).stdout
    assert "Draft" not in run(*big).stdout
    assert run_json(*big)["fits"] is False
    table = run(*gpu[:-1], "l4", "--alpha", "0.7", "--batch", "1,64", "--context", "4096").stdout
    assert "does not fit: " in table.splitlines()[4]
    assert "Speculation still pays at batch 1, the largest planned that fits." in table


def test_a_grid_has_a_schedule_for_each_context(gpu: list[str]) -> None:
    grid = run_json(*gpu, "--alpha", "0.7", "--batch", "1:513:256", "--context", "128,2048")
    assert [(row["context"], row["batch"]) for row in grid["rows"]] == [
        (128, 1), (128, 257), (128, 513), (2048, 1), (2048, 257), (2048, 513),
    ]  # fmt: skip
    contexts = [entry["context"] for entry in grid["schedule"]]
    assert contexts == sorted(contexts)
    for entry in grid["schedule"]:
        planned = [
            row["gamma_near"]
            for row in grid["rows"]
            if row["context"] == entry["context"]
            and entry["first_batch"] <= row["batch"] <= entry["last_batch"]
        ]
        assert set(planned) == {entry["gamma"]}
    row = grid["rows"][0]
    assert (row["gpu"], row["tp"], row["dtype"], row["draft_kind"]) == (
        "h100-sxm", 1, None, "model",
    )  # fmt: skip
    assert row["tokens_per_second_low"] < row["tokens_per_second"] < row["tokens_per_second_high"]


def test_tensor_parallelism_speeds_a_step_up_and_halves_the_memory(gpu: list[str]) -> None:
    alone, shared = (run_json(*gpu, "--alpha", "0.7", "--tp", tp) for tp in ("1", "2"))
    assert shared["baseline_tokens_per_second"] > alone["baseline_tokens_per_second"]
    assert shared["needed_gb"] == pytest.approx(alone["needed_gb"] / 2)
    whole = run_json(*gpu, "--alpha", "0.7", "--tp", "2", "--draft-tp", "1")
    assert whole["needed_gb"] > shared["needed_gb"]


def test_a_gpu_of_ones_own_is_taken_by_its_numbers(gpu: list[str]) -> None:
    own = [*gpu[:-2], "--gpu-flops", "989.5", "--gpu-bandwidth", "3350", "--gpu-memory", "80"]
    stated, known = run_json(*own, "--alpha", "0.7"), run_json(*gpu, "--alpha", "0.7")
    assert stated["tokens_per_second"] == pytest.approx(known["tokens_per_second"])
    assert stated["gpu"] == "own"


def test_four_bits_are_faster_and_smaller(gpu: list[str]) -> None:
    plain, packed = (run_json(*gpu, "--alpha", "0.7", *more) for more in ([], ["--dtype", "int4"]))
    assert packed["needed_gb"] < 0.45 * plain["needed_gb"]
    assert packed["baseline_tokens_per_second"] > plain["baseline_tokens_per_second"]
    draft = run_json(*gpu, "--alpha", "0.7", "--draft-dtype", "int4")
    assert packed["needed_gb"] < draft["needed_gb"] < plain["needed_gb"]


def test_vocabularies_that_differ_are_warned_of(gpu: list[str], tmp_path: Path) -> None:
    (tmp_path / "draft.json").write_text(json.dumps(LLAMA | {"vocab_size": 1000}), "utf-8")
    warned = " ".join(run(*gpu, "--alpha", "0.7").stderr.split())
    assert "the vocabularies differ, 128256 in the target and 1000" in warned


def test_a_head_is_named_and_costs_less_than_a_model(gpu: list[str], tmp_path: Path) -> None:
    model = run_json(*gpu, "--alpha", "0.7")
    head = LLAMA | {"num_hidden_layers": 1, "draft_vocab_size": 32000}
    (tmp_path / "draft.json").write_text(json.dumps(head), encoding="utf-8")
    result = run_json(*gpu, "--alpha", "0.7")
    assert result["draft_kind"] == "EAGLE-3"
    assert result["c"] < model["c"]
    assert "taken for EAGLE-3" in " ".join(run(*gpu, "--alpha", "0.7").stdout.split())


def test_medusa_drafts_no_more_than_it_has_heads(gpu: list[str], tmp_path: Path) -> None:
    (tmp_path / "draft.json").write_text('{"medusa_num_heads": 3}', encoding="utf-8")
    assert len(run_json(*gpu, "--alpha", "0.9")["curve"]) == 3


@pytest.mark.parametrize(
    ("server", "printed"),
    [
        ("vllm", "num_speculative_tokens_per_batch_size"),
        ("tensorrt-llm", "draft_len_schedule: {"),
        ("sglang", "--speculative-adaptive-config"),
    ],
)
def test_a_schedule_is_exported(gpu: list[str], server: str, printed: str) -> None:
    result = run(*gpu, "--alpha", "0.7", "--batch", "1,64,512", "--context", "64", "--export",
                 server)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert printed in result.stdout


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--tp", "3"], "tp must divide the 32 heads of LlamaForCausalLM, got 3"),
        (["--gpu-flops", "100"], "--gpu cannot be combined with --gpu-flops"),
        (["--batch", "1:5000:1", "--context", "1,2,3"],
         "a grid must have at most 10000 cells, got 15000"),
        (["--batch", "0"], "batch must be at least 1, got 0"),
        (["--batch", "1.5"], "1.5 is not an integer"),
        (["--efficiency", "0"], "efficiency must be above 0, got 0"),
        (["--expert-reuse", "2"], "expert_reuse must lie in [0, 1], got 2"),
        (["--batch", "1,2", "--context", "1,2", "--export", "vllm"],
         "--export needs a single alpha, c and context"),
        (["--batch", "1,2", "--export", "llama.cpp"],
         "--export of several batch sizes must be one of sglang, tensorrt-llm, vllm"),
    ],
)  # fmt: skip
def test_bad_loads_are_refused(gpu: list[str], more: list[str], message: str) -> None:
    result = run(*gpu, "--alpha", "0.7", *more)
    assert_refused(result, message)


OK = ["--alpha", "0.8", "--c", "0.05"]
ONE_OF = (
    "give the acceptance: --alpha, or --accepted-fraction and --at-gamma, or --block-efficiency "
    "and --at-gamma, or --acceptance-by-position, or --profile"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], ONE_OF),
        (["--c", "0.05"], ONE_OF),
        ([*OK, "--accepted-fraction", "0.6", "--at-gamma", "4"],
         "--alpha cannot be combined with --accepted-fraction"),
        (["--alpha", "1.2", "--c", "0.05"],
         "Invalid value for '--alpha': must lie in [0, 1], got 1.2"),
        (["--alpha", "-0.1", "--c", "0.05"],
         "Invalid value for '--alpha': must lie in [0, 1], got -0.1"),
        (["--alpha", "nan", "--c", "0.05"],
         "Invalid value for '--alpha': must lie in [0, 1], got nan"),
        (["--alpha", "0.5,1.5", "--c", "0.05"],
         "Invalid value for '--alpha': must lie in [0, 1], got 1.5"),
        (["--alpha", "high", "--c", "0.05"],
         "Invalid value for '--alpha': 'high' is not a number"),
        (["--alpha", "0.1:0.9", "--c", "0.05"],
         "Invalid value for '--alpha': a range is start:stop:step, got '0.1:0.9'"),
        (["--alpha", "0.8", "--c", "-1"], "c must be finite and at least 0, got -1.0"),
        (["--alpha", "0.8", "--c", "nan"], "c must be finite and at least 0, got nan"),
        (["--alpha", "0.8", "--c", "inf"], "c must be finite and at least 0, got inf"),
        ([*OK, "--c-hat", "-1"], "c_hat must be finite and at least 0, got -1.0"),
        ([*OK, "--gamma", "0"], "gamma must be at least 1, got 0"),
        ([*OK, "--gamma", "2.5"], "Invalid value for '--gamma': '2.5' is not a valid integer."),
        ([*OK, "--max-gamma", "0"], "max_gamma must be at least 1, got 0"),
        ([*OK, "--at-gamma", "4"],
         "--alpha cannot be combined with --at-gamma, which needs --accepted-fraction or "
         "--block-efficiency"),
        (["--accepted-fraction", "0.6", "--c", "0.05"],
         "--accepted-fraction needs --at-gamma"),
        (["--block-efficiency", "3", "--c", "0.05"],
         "--block-efficiency needs --at-gamma"),
        (["--accepted-fraction", "61", "--at-gamma", "4", "--c", "0.05"],
         "Invalid value for '--accepted-fraction': must lie in [0, 1], got 61: for per cent write "
         "61%"),
        (["--accepted-fraction", "0.6", "--at-gamma", "0", "--c", "0.05"],
         "Invalid value for '--at-gamma': 0 is not in the range x>=1."),
        (["--acceptance-by-position", "0.5,0.6", "--c", "0.05"],
         "--acceptance-by-position: position_acceptance must not rise from one position to the "
         "next, got 0.6 after 0.5; rates that count only the drafts whose earlier positions stood "
         "go with --conditional"),
        (["--acceptance-by-position", "70,49", "--c", "0.05"],
         "Invalid value for '--acceptance-by-position': must lie in [0, 1], got 70: for per cent "
         "write 70%"),
        (["--acceptance-by-position", "0.7", "0.5", "0.3", "--c", "0.05"],
         "Got unexpected extra arguments (0.5 0.3): a list has commas and no spaces, 0.7,0.5"),
        (["--block-efficiency", "6", "--at-gamma", "4", "--c", "0.05"],
         "block_efficiency must lie in [1, gamma + 1 = 5], got 6.0"),
        (["--alpha", "0.8"],
         "give the cost: --c, or --target-ms and --draft-ms, or --costs and --draft-ms, or "
         "--target-config, --draft-config and --gpu, or --profile"),
        ([*OK, "--target-ms", "19"], "--c cannot be combined with --target-ms"),
        ([*OK, "--verify-ms", "4=33"],
         "--c cannot be combined with --verify-ms, which needs --target-ms"),
        (["--alpha", "0.8", "--target-ms", "19"], "--target-ms needs --draft-ms"),
        (["--alpha", "0.8", "--draft-ms", "1"], "--draft-ms needs --target-ms"),
        (["--alpha", "0.8", "--verify-ms", "4=33"], "--verify-ms needs --target-ms and --draft-ms"),
        (["--alpha", "0.8", "--target-ms", "0", "--draft-ms", "1"],
         "--target-ms must be above 0, got 0"),
        (["--alpha", "0.8", "--target-ms", "-3", "--draft-ms", "1"],
         "Invalid value for '--target-ms': must be finite and at least 0, got -3"),
        (["--alpha", "0.8", "--target-ms", "19", "--draft-ms", "nan"],
         "Invalid value for '--draft-ms': must be finite and at least 0, got nan"),
        (["--alpha", "0.8", *MS, "--verify-ms", "4:33"],
         "Invalid value for '--verify-ms': must be N=MS, such as 4=33, got '4:33'"),
        (["--alpha", "0.8", *MS, "--verify-ms", "four=33"],
         "Invalid value for '--verify-ms': must be N=MS, such as 4=33, got 'four=33'"),
        (["--alpha", "0.8", *MS, "--verify-ms", "4="],
         "Invalid value for '--verify-ms': must be N=MS, such as 4=33, got '4='"),
        (["--alpha", "0.8", *MS, "--verify-ms", "1=33"],
         "Invalid value for '--verify-ms': N must be at least 2 (1 is --target-ms), got '1=33'"),
        (["--alpha", "0.8", *MS, "--verify-ms", "4=33", "--verify-ms", "4=34"],
         "Invalid value for '--verify-ms': N = 4 is given twice"),
        (["--alpha", "0.8", *MS, "--verify-ms", "4=nan"],
         "Invalid value for '--verify-ms': MS must be finite and above 0, got '4=nan'"),
        ([*OK, "--verification", "block"],
         "--alpha cannot be combined with --verification, which needs --profile"),
        ([*OK, "--lenience", "0.5"],
         "--alpha cannot be combined with --lenience, which needs --profile"),
        (["--alpha", "0.7,0.8", "--c", "0.05", "--export", "vllm"],
         "--export needs a single alpha, c and context"),
        (["--profile", "missing.json"], "missing.json: No such file or directory"),
        (["--profile", "."], ".: Is a directory"),
        (["--alpha", "0.8", "--gpu", "h100"], "--gpu needs --target-config and --draft-config"),
        (["--alpha", "0.8", "--batch", "4"],
         "--batch needs --target-config, --draft-config and --gpu"),
        (["--alpha", "0.8", "--batch", "many"],
         "Invalid value for '--batch': 'many' is not a number"),
        (["--alpha", "0.8", "--target-config", "missing.json", "--draft-config", "missing.json",
          "--gpu", "h100"], "missing.json: No such file or directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_bad_input_is_one_line_and_status_2(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments, "--json")
    assert result.exit_code == 2
    assert result.stderr == f"Error: {message}\n"
    assert result.stdout == ""


def test_an_unknown_export_names_the_known_ones() -> None:
    result = run(*OK, "--export", "ollama")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    for name in ("ollama", "vllm", "transformers", "llama.cpp", "sglang"):
        assert name in result.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not json", "must be JSON"),
        (b"\xff\xfe\x00", "must be JSON"),
        (b"[]", "must be written by 'specplan measure'"),
        (b"{}", "must be written by 'specplan measure'"),
        (b'{"schema": "specplan-profile", "version": 1}', "must have version 2, got 1"),
        (b'{"schema": "specplan-profile", "version": 2}', "is damaged: "),
    ],
    ids=["text", "bytes", "list", "empty", "old", "no keys"],
)
def test_a_file_that_is_no_profile_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(content)
    result = run("--profile", str(path))
    assert_refused(result, message)
    assert str(path) in result.stderr


def test_lenience_beyond_the_profile_is_refused(profile: str) -> None:
    for lenience in ("0.2", "1.5", "nan", "0"):
        result = run("--profile", profile, "--lenience", lenience)
        assert result.exit_code == 2
        assert "lenience must lie in [0.5, 1]" in result.stderr


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", "must be JSON"),
        ("[]", "must hold a JSON object, got a list"),
        (json.dumps({**LLAMA, "hidden_size": None}), "transformers "),
        (json.dumps({**LLAMA, "num_hidden_layers": -1}), "must have a num_hidden_layers"),
        (json.dumps({**LLAMA, "model_type": None}), "must name its architecture, got no model"),
        (json.dumps({"model_type": "siglip_vision_model", "dtype": "bfloat16"}),
         "must describe a causal language model, got siglip_vision_model"),
        (json.dumps({**LLAMA, "draft_vocab_size": 500, "hidden_size": 64}),
         "hidden_size of the draft must be that of LlamaForCausalLM"),
    ],
    ids=["broken", "list", "field missing", "negative", "no architecture", "vision", "width"],
)
def test_a_config_that_describes_no_model_is_refused(
    gpu: list[str], tmp_path: Path, config: str, message: str
) -> None:
    path = tmp_path / "draft.json"
    path.write_text(config, encoding="utf-8")
    result = run(*gpu, "--alpha", "0.7")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {path}")
    assert message in result.stderr


def test_only_single_sequences_have_a_range_of_published_speeds(gpu: list[str]) -> None:
    one, eight = (run_json(*gpu, "--alpha", "0.7", "--batch", batch) for batch in ("1", "8"))
    assert one["tokens_per_second_low"] < one["tokens_per_second"]
    assert eight["tokens_per_second_low"] is eight["tokens_per_second_high"] is None
    assert "Few speeds of several" in run(*gpu, "--alpha", "0.7", "--batch", "8").stdout


@pytest.mark.parametrize("batch", ["1", "1,8"])
def test_a_c_that_depends_on_the_overhead_of_layers_is_told(gpu: list[str], batch: str) -> None:
    told = "of a draft step is the fixed time assumed for each layer"
    asked = (*gpu, "--alpha", "0.7", "--batch", batch)
    assert told in " ".join(run(*asked, "--layer-overhead-us", "1000").stdout.split())
    assert told not in " ".join(run(*asked, "--layer-overhead-us", "0").stdout.split())


def test_an_unknown_gpu_lists_the_known_ones(gpu: list[str]) -> None:
    result = run(*gpu[:-1], "h1000", "--alpha", "0.7")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: gpu must be one of a100")
    assert result.stderr.endswith("got h1000 (did you mean h100?)\n")
    nothing_like_it = run(*gpu[:-1], "x", "--alpha", "0.7")
    assert nothing_like_it.stderr.endswith("got x\n")


def test_help_shows_defaults_and_examples() -> None:
    words = " ".join(run("--help").stdout.split())
    assert "specplan plan --alpha 0.8 --c 0.05" in words
    assert "[default: 32]" in words
    assert "[default: c]" in words


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 0.5, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("c", [0.0, 1e-9, 0.5, 1.0, 10.0])
def test_every_corner_prints_finite_json_and_a_table(alpha: float, c: float) -> None:
    arguments = ["--alpha", repr(alpha), "--c", repr(c)]
    result = run_json(*arguments)
    assert all(
        math.isfinite(value) for value in result.values() if isinstance(value, float)
    )
    text = run(*arguments)
    assert text.exit_code == 0
    assert "nan" not in text.stdout


def test_costs_of_a_bench_take_the_place_of_milliseconds(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    rows = [
        {"model_filename": "m", "n_prompt": n, "n_gen": 0, "avg_ns": ms * 1e6}
        for n, ms in ((1, 19), (4, 33), (8, 60))
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
    stated = run_json("--alpha", "0.8", "--target-ms", "19", "--draft-ms", "1.6",
                      "--verify-ms", "4=33", "--verify-ms", "8=60")  # fmt: skip
    assert run_json("--alpha", "0.8", "--costs", str(path), "--draft-ms", "1.6") == stated
    assert "--costs needs --draft-ms" in run("--alpha", "0.8", "--costs", str(path)).stderr
    both = run("--alpha", "0.8", "--costs", str(path), "--draft-ms", "1", "--target-ms", "2")
    assert "--target-ms cannot be combined with --costs" in both.stderr
    assert both.exit_code == 2
