"""`specplan plan` of stated numbers: what it computes, prints, exports and writes."""

import json
import math
from pathlib import Path

import pytest

from simulator.acceptance.acceptance import Iid
from simulator.acceptance.tokens import accepted_fraction, expected_tokens
from simulator.cost.curves import CostModel
from tests.simulator.planned import planned
from tests.specplan.plan_inputs import KEYS, MS, run, run_json

EIGHT = "--alpha 0.8 --c 0.05"
RISING = "--acceptance-by-position 0.9,0.6,0.5 --conditional --c 0.05"


def test_json_has_the_keys_of_the_contract() -> None:
    result = run_json(EIGHT)
    assert set(result) >= KEYS | {"alpha_iid", "curve"}
    assert [row["gamma"] for row in result["curve"]] == list(range(1, 33))
    assert all(
        set(row)
        == {
            "gamma",
            "expected_tokens",
            "improvement_factor",
            "operations_factor",
            "extrapolated",
            "beyond_graphs",
            "gain_probability",
        }
        for row in result["curve"]
    )
    assert result["optimal_gamma"] == result["gamma"] == 8
    assert result["tokens_per_second"] is result["alpha_iid"] is None
    assert type(result["curve"][0]["gamma"]) is int


def test_numbers_are_those_of_the_library() -> None:
    result = run_json(
        f"--alpha 0.8 {MS} --verify-ms 4=33 --verify-ms 8=60 --overhead-ms 2 --gamma 5 --c-hat 0.02"
    )
    costs = CostModel(
        target_seconds={1: 0.019, 4: 0.033, 8: 0.060}, draft_seconds=0.0016, overhead_seconds=0.002
    )
    expected = planned(Iid(0.8), costs, c_hat=0.02, gamma=5)
    for key in KEYS:
        assert result[key] == pytest.approx(getattr(expected, key), nan_ok=True), key
    assert result["gamma"] == 5
    assert result["optimal_gamma"] != 5
    assert [row["improvement_factor"] for row in result["curve"]] == pytest.approx(
        expected.curve.improvement_factor.tolist()
    )


def test_theorem8_quantities_vanish_once_verification_has_a_price() -> None:
    free, priced = (run_json(f"--alpha 0.8 {MS} {more}") for more in ("", "--verify-ms 4=33"))
    for key in ("oracle_improvement_factor", "lower_bound"):
        assert free[key] is not None
        assert priced[key] is None
    assert free["improvement_factor"] == free["improvement_factor_theorem8"]
    assert priced["improvement_factor"] < priced["improvement_factor_theorem8"]
    assert priced["baseline_tokens_per_second"] == pytest.approx(1000 / 19)


def test_not_speculating_is_gamma_zero_with_factors_of_one() -> None:
    result = run_json("--alpha 0.05 --c 0.2")
    assert (result["optimal_gamma"], result["gamma"]) == (0, 0)
    assert result["accepted_fraction"] is None
    for key in ("improvement_factor", "improvement_factor_theorem8", "operations_factor",
                "memory_access_factor", "expected_tokens"):  # fmt: skip
        assert result[key] == 1


@pytest.mark.parametrize("alpha", [0.2, 0.6, 0.95])
def test_counts_lead_back_to_the_alpha_they_came_from(alpha: float) -> None:
    fraction, efficiency = float(accepted_fraction(alpha, 4)), float(expected_tokens(alpha, 4))
    for stated in (f"--accepted-fraction {fraction}", f"--block-efficiency {efficiency}"):
        result = run_json(f"{stated} --at-gamma 4 --c 0.05")
        assert result["alpha"] == pytest.approx(alpha, abs=1e-9)
        assert result["alpha_iid"] == result["alpha"]


@pytest.mark.parametrize(("typed", "plain"), [("49.7%", "0.497"), ("171/300", "0.57")])
def test_a_fraction_may_be_typed_as_a_server_prints_it(typed: str, plain: str) -> None:
    assert run_json(f"--alpha {typed} --c 0.05") == run_json(f"--alpha {plain} --c 0.05")
    # The means agree; counts say how sure they are, too.
    stated = "--accepted-fraction {} --at-gamma 4 --c 0.05"
    one, other = (run_json(stated.format(each)) for each in (typed, plain))
    for key in ("alpha", "improvement_factor", "expected_tokens"):
        assert one[key] == pytest.approx(other[key], rel=2e-3)


def test_rates_by_position_as_servers_print_them() -> None:
    result = run_json("--acceptance-by-position 0.705,0.494,0.293 --c 0.05")
    assert result["curve"][2]["expected_tokens"] == pytest.approx(2.492)
    assert result["acceptance"] == {
        "kind": "by_position", "observed_gamma": 3, "iid_consistent": True,
        "iid_error": pytest.approx(-0.0282, abs=1e-3), "iid_error_gamma": 2,
    }  # fmt: skip
    assert result["alpha_iid"] == result["alpha"] == pytest.approx(1.492 / 2.199)
    assert run_json(RISING)["curve"][1]["expected_tokens"] == pytest.approx(1 + 0.9 + 0.54)
    # Gamma 3, which was observed, is advised.
    assert "No position beyond" not in run(RISING).stdout


def test_ranges_and_lists_give_every_pair() -> None:
    rows = run_json("--alpha 0.1:0.9:0.1 --c 0.02,0.1")["rows"]
    assert [(row["alpha"], row["c"]) for row in rows] == [
        (i / 10, c) for i in range(1, 10) for c in (0.02, 0.1)
    ]
    single = run_json("--alpha 0.9 --c 0.1")
    assert set(single) - set(rows[0]) == {"curve", "sentence", "sure", "further", "basis"}
    assert rows[-1] == {name: single[name] for name in rows[-1]}


def test_warnings_go_to_stderr() -> None:
    result = run("--alpha 1 --c 0 --max-gamma 4 --json")
    assert json.loads(result.stdout)["oracle_improvement_factor"] is None  # infinite
    assert result.stderr == (
        "Warning: the best gamma is limited by --max-gamma 4: a longer draft gains\n"
    )
    assert "in 1 of 2 rows" in run("--alpha 0.3,0.8 --c 0.1 --max-gamma 2").stderr
    assert run(EIGHT).stderr == ""


def test_export_prints_flags_and_nothing_else() -> None:
    flags = run(f"{EIGHT} --export vllm").stdout
    assert flags == (
        "--speculative-config "
        '\'{"method": "draft_model", "model": "DRAFT", "num_speculative_tokens": 7}\'\n'
    )
    assert run_json(f"{EIGHT} --export vllm")["export"] == flags.strip()
    assert "export" not in run_json(EIGHT)
    stated = run(f"{EIGHT} --gamma 3 --export transformers").stdout
    assert "num_assistant_tokens = 3\n" in stated


def test_the_json_object_is_written_to_a_file_too(tmp_path: Path) -> None:
    assert "Draft 7 tokens" in run(f"{EIGHT} -o {tmp_path / 'plan.json'}").stdout
    written = json.loads((tmp_path / "plan.json").read_text())
    assert written.pop("command") == f"specplan plan {EIGHT}"
    assert written == run_json(EIGHT)


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 0.5, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("c", [0.0, 1e-9, 0.5, 1.0, 10.0])
def test_every_corner_prints_finite_json_and_a_table(alpha: float, c: float) -> None:
    result = run_json(f"--alpha {alpha!r} --c {c!r}")
    assert all(math.isfinite(value) for value in result.values() if isinstance(value, float))
    text = run(f"--alpha {alpha!r} --c {c!r}")
    assert text.exit_code == 0
    assert "nan" not in text.stdout


def test_costs_of_a_bench_take_the_place_of_milliseconds(tmp_path: Path) -> None:
    rows = [
        {"model_filename": "m", "n_prompt": n, "n_gen": 0, "avg_ns": ms * 1e6}
        for n, ms in ((1, 19), (4, 33), (8, 60))
    ]
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    stated = run_json(f"--alpha 0.8 {MS} --verify-ms 4=33 --verify-ms 8=60")
    assert run_json(f"--alpha 0.8 --costs {path} --draft-ms 1.6") == stated
    draft = tmp_path / "draft.json"
    # A pass over one token is a draft step; the draft verifies nothing.
    times = [{"n_prompt": n, "n_gen": 0, "avg_ns": ms * 1e6} for n, ms in ((1, 1.6), (4, 5))]
    draft.write_text(json.dumps(times), encoding="utf-8")
    assert run_json(f"--alpha 0.8 --costs {path} --draft-costs {draft}") == stated
