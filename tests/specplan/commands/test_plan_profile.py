"""`specplan plan --profile`: what was measured, replayed; drafts as a server makes them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from estimator.profiles.best import best_of
from estimator.profiles.parts import Alpha, DraftAcceptance, Setup
from estimator.profiles.profile import ClockCheck
from estimator.profiles.profile_file import write_profile
from simulator.acceptance.replayed import Replayed
from simulator.choice.plan import plan
from simulator.cost.curves import CostModel
from specplan.api.planning import exported as flags_of
from specplan.reports.page.inputs import Named
from specplan.reports.page.profiles import answer, ranked
from specplan.reports.profile import profile_text
from tests.simulator.planned import planned
from tests.specplan.made_profiles import made_profile
from tests.specplan.plan_inputs import BLOCKS, COSTS, JOINTLY, KEYS, MS, PROFILE, run, run_json
from tests.specplan.refusals import assert_refused

COST_MS = "--target-ms 10 --draft-ms 1.2 --verify-ms 3=12 --overhead-ms 0.3"


@pytest.fixture
def stated(tmp_path: Path) -> str:
    """The option of PROFILE."""
    return written(tmp_path)


def written(folder: Path, **changes: Any) -> str:
    """Writes PROFILE with changes, and returns the option that names it."""
    path = folder / "changed.json"
    write_profile(replace(PROFILE, **changes), path)
    return f"--profile {path}"


def test_a_profile_is_planned_by_replay_with_the_iid_number_beside_it(stated: str) -> None:
    result = run_json(stated)
    expected = planned(Replayed(0.62, BLOCKS["sampled"]), COSTS, c_hat=0.04)
    for key in KEYS:
        assert result[key] == pytest.approx(getattr(expected, key)), key
    assert result["improvement_factor"] != pytest.approx(result["improvement_factor_iid"])
    iid = run_json(f"--alpha 0.62 {COST_MS} --gamma {result['gamma']}")
    assert result["acceptance"]["kind"] == "replay"
    assert result["acceptance"]["observed_gamma"] == 16
    assert result["draft_sampling"] == "sampled"
    # The same but for the baseline's overhead, which no option states.
    assert result["improvement_factor_iid"] == pytest.approx(
        iid["improvement_factor"] * COSTS.baseline_seconds / COSTS.step_seconds
    )
    assert [row["extrapolated"] for row in result["curve"]] == [gamma > 2 for gamma in range(1, 33)]
    assert result["c_hat_is_c"] is False
    assert "If all positions were accepted equally" in run(stated).stdout


def test_a_speed_up_that_iid_misses_since_blocks_are_short_is_said(tmp_path: Path) -> None:
    """Half the calls had nothing drafted: tokens per call are as i.i.d. ones, costs are not."""
    short = {"sampled": DraftAcceptance(Alpha(0.25), {1: (0.5, 0.3), 2: (0.5, 0.08, 0.19)})}
    asked = f"{written(tmp_path, alpha=Alpha(0.25), draftings=short)} --target-ms 10 --draft-ms 3"
    result = run_json(asked)
    assert result["acceptance"]["iid_consistent"] is True
    assert result["improvement_factor"] > 1.05 * result["improvement_factor_iid"]
    text = " ".join(run(asked).stdout.split())
    assert "as many tokens per call, but every block would draft all it may" in text


def test_a_profiles_acceptances_meet_other_hardware(stated: str) -> None:
    other = run_json(f"{stated} {COST_MS} --verify-ms 9=30")
    costs = CostModel({1: 0.010, 3: 0.012, 9: 0.030}, 0.0012, 0.0003)
    expected = planned(Replayed(0.62, BLOCKS["sampled"]), costs)
    assert other["improvement_factor"] == pytest.approx(expected.improvement_factor)
    assert other["acceptance"]["kind"] == "replay"


def test_text_fits_a_terminal(stated: str) -> None:
    for arguments in (f"--acceptance-by-position 0.9,0.54,0.27 {MS}", stated):
        assert max(map(len, run(arguments).stdout.splitlines())) <= 80


def test_text_where_even_a_draft_that_is_never_accepted_pays(tmp_path: Path) -> None:
    """The baseline spends more outside its pass on each token than a block does."""
    never = {"sampled": DraftAcceptance(Alpha(0.0), {1: (0.1, 0.9)})}
    assert PROFILE.times is not None
    times = replace(PROFILE.times, baseline_overhead_ms=5.0)
    asked = written(tmp_path, alpha=Alpha(0.0), draftings=never, times=times)
    result = run(asked)
    assert "Draft 1 token per block" in result.stdout
    assert "Break-even: any acceptance at these costs, or a draft step of " in result.stdout


def test_a_profile_of_a_busy_machine_says_so_wherever_it_is_used(tmp_path: Path) -> None:
    busy = written(tmp_path, clock=ClockCheck(quiet=False))
    assert "not quiet" in run(busy).stdout
    assert "not quiet" in run(busy).stderr
    assert "not quiet" in run(f"{busy} --export vllm").stderr
    assert run_json(busy)["quiet"] is False


@pytest.mark.parametrize(
    ("server", "sampling"), [("transformers", "sampled"), ("sglang", "argmax"), ("vllm", "sampled")]
)
def test_export_has_the_gamma_that_the_table_advises(
    stated: str, server: str, sampling: str
) -> None:
    """The way of drafting is the server's own where its flags cannot say it."""
    result = run_json(f"{stated} --export {server}")
    table = run_json(f"{stated} --draft-sampling {sampling}")
    assert result["draft_sampling"] == sampling
    assert result["gamma_near"] == table["gamma_near"] > 0
    assert str(result["gamma_near"]) in result["export"]


def test_a_profile_without_the_drafts_that_a_server_makes_is_said(tmp_path: Path) -> None:
    asked = written(tmp_path, draftings={"sampled": PROFILE.draftings["sampled"]})
    result = run(f"{asked} --export sglang")
    assert "sglang drafts by argmax; the profile has only sampled drafts" in result.stderr
    refused = run(f"{asked} --draft-sampling argmax")
    assert_refused(refused, "must hold drafts that are argmax, got sampled")


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
    asked = written(tmp_path, setup=Setup(target="big", draft=draft))
    result = run(f"{asked} --gamma 4 --export vllm")
    if exported is None:
        assert_refused(result, f"needs a draft model, got a profile of {draft}")
    else:
        assert exported in result.stdout


def test_block_verification_is_planned_by_its_own_replay_and_exported(stated: str) -> None:
    asked = f"{stated} --gamma 4"
    whole, single = run_json(f"{asked} --verification block"), run_json(asked)
    assert (whole["verification"], single["verification"]) == ("block", "token")
    assert whole["expected_tokens"] == pytest.approx(1 / sum(JOINTLY[4]))
    assert single["expected_tokens"] == pytest.approx(1 / sum(BLOCKS["sampled"][4]))


def test_a_profile_of_block_verification_is_planned_as_it_was_measured(tmp_path: Path) -> None:
    asked = f"{written(tmp_path, verification='block')} --draft-sampling sampled"
    for export, verification in (("", "block"), ("vllm", "block"), ("llama.cpp", "token")):
        more = f" --export {export}" if export else ""
        assert run_json(asked + more)["verification"] == verification


def test_a_profile_gives_one_gamma_by_every_road(tmp_path: Path) -> None:
    """plan --profile, the same numbers typed, what measure prints, the page and the flags."""
    made = made_profile("some/draft", alpha=0.7, c=0.05)
    path = tmp_path / "made.json"
    write_profile(made, path)
    result = run_json(f"--profile {path}")
    gamma = result["advised_gamma"]
    assert gamma > 0
    assert result["gain_probability"] > 0.95
    assert result["improvement_factor_low"] < result["improvement_factor"]
    best = best_of(made)
    assert best is not None
    assert best.plan.advised_gamma == gamma
    assert f"(K = {gamma})" in profile_text(made)
    page = answer(ranked([Named("made", "made.json", made)]), flags_of)
    assert f"K = {gamma}:" in page["headline"]
    flags = run(f"--profile {path} --export vllm").stdout
    assert f'"num_speculative_tokens": {gamma}' in flags
    assert made.cost is not None
    typed = plan(made.drafting().acceptance, made.cost)
    assert typed.advised_gamma == gamma
    rows = run_json(f"--profile {path} --gamma {gamma}")
    assert rows["advised_gamma"] == gamma


def test_prompts_that_differ_widen_the_interval_of_a_profile(tmp_path: Path) -> None:
    made = made_profile("some/draft", alpha=0.7, c=0.05)
    assert made.left_out is not None
    apart = {
        gamma: tuple(factor * (1 + place / 20) for place, factor in enumerate(factors))
        for gamma, factors in made.left_out.improvement_factor.items()
    }
    chances = []
    for left_out in (made.left_out, replace(made.left_out, improvement_factor=apart), None):
        path = tmp_path / "made.json"
        write_profile(replace(made, left_out=left_out), path)
        chances.append(run_json(f"--profile {path}")["gain_probability"])
    assert chances[0] > chances[1] > 0.5
    # A single prompt shows nothing about other prompts.
    assert chances[2] is None
    # At other costs nothing was measured.
    assert run_json(f"--profile {path} --c 0.01")["gain_probability"] is None
