"""`specplan validate` on a tiny pair: rows, keys, policies, rules, drafters, the figure."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import estimator.timing.arms
from reference.speculative import plain_session, speculative_session
from tests.specplan.programs import Run, RunJson

KEYS = {
    "draft", "temperature", "draft_temperature", "policy", "gamma", "alpha", "c",
    "predicted_theorem8",
    "error_percent_low", "error_percent_high",
    "predicted_ahead", "predicted_ahead_low", "predicted_ahead_high", "predicted_calibrated",
    "measured", "measured_low", "measured_high", "error_percent", "predicted_target_calls",
    "target_calls", "block_efficiency", "accepted_fraction", "tokens", "identical_to_target",
    "draft_seconds", "verify_seconds", "other_seconds", "baseline_tokens_per_second",
    "tokens_per_second", "end_to_end_predicted", "end_to_end_measured",
    # beyond the contract
    "rule", "lossless", "tie_gap", "target", "prompts_hash", "measured_left_out", "predicted",
    "ms_per_token", "doubts",
}  # fmt: skip


Rows = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def validate(small: list[str]) -> list[str]:
    return ["validate", *small, "--repeats", "1"]


@pytest.fixture
def rows_of(run_json: RunJson, validate: list[str]) -> Rows:
    """Returns a function that validates the tiny pair with further options, and gives its rows."""
    return lambda *options: run_json(*validate, *options)["rows"]


def test_rows_have_every_key_in_the_order_of_draft_temperature_and_gamma(
    run_json: RunJson, validate: list[str]
) -> None:
    result = run_json(*validate, "--draft", "lookup", "--gamma", "1,3", "--temperature", "0,1,0")
    assert set(result) == {"sentence", "basis", "decoder", "confidence", "rows", "summary"}
    assert result["decoder"] == "speculative"
    assert re.fullmatch(r"Rests on \d+ prompts?, timed .+ on .+, [-\d]{10}\.", result["basis"])
    assert set(result["summary"]) == {
        "mean_abs_error_percent", "max_abs_error_percent", "noise_percent",
        "noise_within_percent", "quiet", "precision_percent", "repeats", "threads", "free_cores",
    }  # fmt: skip
    rows = result["rows"]
    assert [(row["draft"], row["temperature"], row["gamma"]) for row in rows] == [
        (draft, temperature, gamma)
        for draft in ("draft", "lookup")
        for temperature in (0, 1)
        for gamma in (1, 3)
    ]
    for row in rows:
        assert set(row) == KEYS
        assert row["policy"] == "fixed"
        assert row["lossless"] is True
        assert row["identical_to_target"] is (True if row["temperature"] == 0 else None)
        assert row["tie_gap"] is None
        assert row["tokens"] <= 2 * 6
        assert row["error_percent"] == pytest.approx(
            100 * (row["predicted_calibrated"] / row["measured"] - 1)
        )
        if row["temperature"] == 0:
            assert row["predicted_target_calls"] == row["target_calls"]


def test_a_draft_by_argmax_is_predicted_and_measured_as_such(rows_of: Rows) -> None:
    """Given the text, an argmax draft's acceptance is certain, so calls are predicted exactly."""
    asked = ("--draft", "lookup", "--gamma", "3", "--temperature", "0,1")
    rows, plain = rows_of(*asked, "--draft-temperature", "0"), rows_of(*asked)
    assert [row["draft_temperature"] for row in rows] == [0.0, 0.0, None, None]
    assert all(row["predicted_target_calls"] == row["target_calls"] for row in rows)
    assert [row["draft_temperature"] for row in plain] == [0.0, 1.0, None, None]
    assert rows[1]["alpha"] < plain[1]["alpha"]
    assert all(rows[place]["alpha"] == plain[place]["alpha"] for place in (0, 2, 3))


def test_block_verification_is_predicted_and_measured(rows_of: Rows) -> None:
    asked = ("--gamma", "4", "--temperature", "0,1")
    for row, plain in zip(rows_of(*asked, "--verification", "block"), rows_of(*asked), strict=True):
        assert (row["rule"], plain["rule"], row["lossless"]) == ("block", "strict", True)
        assert row["predicted_calibrated"] is not None
        if row["temperature"] == 0:
            assert row["identical_to_target"] is True
            assert row["target_calls"] == plain["target_calls"] == row["predicted_target_calls"]


def test_a_greedy_target_is_followed_by_a_draft_that_draws(rows_of: Rows) -> None:
    asked = ("--gamma", "3", "--temperature", "0", "--draft-temperature", "1")
    [row], [lossy] = rows_of(*asked), rows_of(*asked, "--lenience", "0.5")
    assert row["identical_to_target"] is True
    assert row["predicted_target_calls"] is not None
    assert lossy["predicted_target_calls"] is None


def test_a_seed_gives_one_text(rows_of: Rows) -> None:
    counted = ("alpha", "target_calls", "tokens", "accepted_fraction", "predicted_target_calls")
    one, again, other = (
        [[row[key] for key in counted] for row in rows_of("--gamma", "2", "--seed", seed)]
        for seed in ("0", "0", "1")
    )
    assert one == again != other


def test_every_policy_has_its_row(rows_of: Rows) -> None:
    policies = ("fixed", "heuristic", "confidence:0.3", "adaptive")
    asked = [word for policy in policies for word in ("--policy", policy)]
    rows = rows_of(*asked, "--gamma", "2", "--max-gamma", "4", "--temperature", "0")
    assert [row["policy"] for row in rows] == list(policies)
    assert [row["gamma"] for row in rows] == [2, None, None, None]
    for row in rows:
        assert row["identical_to_target"] is True
        replayed = row["policy"] in ("fixed", "confidence:0.3")
        assert (row["predicted_calibrated"] is not None) == replayed


def test_chat_prompts_stand_in_the_template(run_json: RunJson, validate: list[str]) -> None:
    arguments = ["chat" if word == "target" else word for word in validate]
    arguments += ["--gamma", "2", "--temperature", "0"]
    plain, chat = (run_json(*arguments, *option)["rows"][0] for option in ((), ("--chat",)))
    assert chat["identical_to_target"] is True
    assert chat["alpha"] != plain["alpha"]


def test_policies_alone_are_measured_without_a_prediction(
    run_json: RunJson, validate: list[str]
) -> None:
    result = run_json(*validate, "--policy", "heuristic", "--temperature", "1")
    assert result["summary"]["mean_abs_error_percent"] is None
    assert result["rows"][0]["measured"] > 0


def test_lenience_is_reported_as_lossy_unless_it_is_one(rows_of: Rows) -> None:
    lossy, strict, one = (
        rows_of("--gamma", "3", *more)
        for more in (("--lenience", "0.01"), (), ("--lenience", "1", "--temperature", "0"))
    )
    assert [(row["rule"], row["lossless"]) for row in lossy] == [("lenient 0.01", False)] * 2
    assert all(row["alpha"] > other["alpha"] for row, other in zip(lossy, strict, strict=True))
    assert [(row["rule"], row["lossless"]) for row in one] == [("strict", True)]


def test_the_table_explains_itself(
    run: Run, validate: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = "a processor of which the maker says more than a line holds, 2 cores"
    monkeypatch.setattr("estimator.timing.machine.machine", lambda: machine)
    policies = ("--policy", "fixed", "--policy", "adaptive")
    result = run(*validate, "--gamma", "1,2", "--temperature", "0", *policies)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0].startswith("draft draft, temperature 0: alpha ")
    assert lines[1].split()[:3] == ["policy", "free", "predicted"]
    assert '"free": the speed-up if' in result.stdout
    words = " ".join(result.stdout.split())
    assert "the baseline timed twice differs" in words
    assert machine in words
    assert max(map(len, lines)) <= 80


def test_the_figure_is_drawn_and_json_stays_alone(
    run: Run, validate: list[str], tmp_path: Path
) -> None:
    figure = tmp_path / "a.PNG"
    asked = (*validate, "--gamma", "1", "--temperature", "0")
    result = run(*asked, "--figure", str(figure), "--json")
    assert result.exit_code == 0, result.output
    assert figure.read_bytes().startswith(b"\x89PNG")
    json.loads(result.stdout)
    assert result.stderr == f"Wrote {figure}\n"


def test_half_precision_says_how_near_a_tie_it_parted(rows_of: Rows) -> None:
    """bfloat16 keeps 8 bits: logits of about 10 that differ by less than 0.1 may change places."""
    asked = ("--dtype", "bfloat16", "--temperature", "0", "--gamma", "4", "--max-new-tokens", "40")
    for row in rows_of(*asked):
        assert (row["tie_gap"] is None) == row["identical_to_target"]
        assert row["tie_gap"] is None or 0 <= row["tie_gap"] < 0.1


def test_greedy_text_is_the_targets_own_whoever_drafts(rows_of: Rows) -> None:
    drafts = [word for draft in ("random", "exit:1", "lookup:1") for word in ("--draft", draft)]
    rows = rows_of(*drafts, "--gamma", "1,4", "--temperature", "0")
    assert len(rows) == 8
    for row in rows:
        assert row["identical_to_target"] is True
        assert row["draft"] == "random" or row["predicted_target_calls"] == row["target_calls"]


def test_an_encoder_decoder_pair_needs_no_further_option(
    run_json: RunJson, validate: list[str]
) -> None:
    arguments = [{"target": "encdec", "draft": "encdec-draft"}.get(w, w) for w in validate]
    for row in run_json(*arguments, "--gamma", "1,4", "--temperature", "0")["rows"]:
        assert row["identical_to_target"] is True
        assert row["predicted_target_calls"] == row["target_calls"]


def test_nan_logits_end_the_run_naming_model_and_position(run: Run, validate: list[str]) -> None:
    for model, word in (("target", "nan"), ("draft", "nan")):
        arguments = [word if option == model else option for option in validate]
        result = run(*arguments, "--temperature", "0")
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("Error: nan returned NaN or infinite logits at position ")
        assert result.stderr.count("\n") == 1


def test_ctrl_c_ends_with_130_and_leaves_nothing_half_done(
    run: Run, validate: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows need all of their runs, timed in one go: there is nothing to keep or to resume."""
    begin = speculative_session
    decoded = []

    def interrupted(*arguments: Any, **settings: Any) -> Any:
        decoded.append(1)
        if len(decoded) == 5:
            raise KeyboardInterrupt
        return begin(*arguments, **settings)

    monkeypatch.setattr(estimator.timing.arms, "speculative_session", interrupted)
    figure = tmp_path / "a.png"
    result = run(*validate, "--gamma", "2", "--figure", str(figure), "--json")
    assert result.exit_code == 130
    assert result.stdout == ""
    assert result.stderr.strip() == "Interrupted."
    assert list(tmp_path.iterdir()) == []


def test_one_prompt_gives_no_interval(run: Run, run_json: RunJson, validate: list[str]) -> None:
    one = [*validate, "--num-prompts", "1", "--gamma", "2", "--repeats", "2", "--temperature", "0"]
    for row in run_json(*one)["rows"]:
        for name in ("predicted_ahead", "measured"):
            assert row[name] > 0
            assert row[f"{name}_low"] is row[f"{name}_high"] is None
    shown = run(*one, "--wide").stdout.splitlines()
    assert [line.count("[") for line in shown if line.lstrip().startswith("K=")] == [0]


def test_rows_appear_as_they_are_measured(
    run: Run, validate: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of the first temperature are printed before the second begins."""
    begin = plain_session
    temperatures = []

    def interrupted(*arguments: Any, **settings: Any) -> Any:
        temperatures.append(settings["sampling"].temperature)
        if temperatures[-1] == 1:
            raise KeyboardInterrupt
        return begin(*arguments, **settings)

    monkeypatch.setattr(estimator.timing.arms, "plain_session", interrupted)
    result = run(*validate, "--gamma", "2", "--temperature", "0,1")
    assert result.exit_code == 130
    heading, _, row = result.stdout.splitlines()[:3]
    assert heading.startswith("draft draft, temperature 0:")
    assert row.split()[:1] == ["K=2"]


def test_runs_are_timed_no_more_often_than_precision_needs(
    run_json: RunJson, validate: list[str]
) -> None:
    """The clock of a few tokens is never exact, and always better than a factor of e^16."""
    asked = [*validate, "--gamma", "2", "--temperature", "0", "--repeats", "3"]
    asked += ["--num-prompts", "3"]  # of two an interval may be as wide as that
    exact = run_json(*asked, "--precision", "0")["summary"]
    assert exact["repeats"] == 3
    assert exact["precision_percent"] > 0
    assert run_json(*asked, "--precision", "1e9")["summary"]["repeats"] == 1


def test_of_prompts_that_there_is_no_time_for_no_row_tells(rows_of: Rows) -> None:
    """Two of three start under any limit; their texts equal the texts without a limit."""
    asked = ("--num-prompts", "3", "--gamma", "2", "--temperature", "0,1")
    for row, whole in zip(rows_of(*asked, "--time-limit", "0"), rows_of(*asked), strict=True):
        assert len(row["measured_left_out"]) == 2
        assert row["tokens"] < whole["tokens"]
        assert row["prompts_hash"] != whole["prompts_hash"]


def test_the_json_goes_into_a_file_too(run: Run, validate: list[str], tmp_path: Path) -> None:
    path = tmp_path / "v.json"
    result = run(*validate, "--gamma", "2", "--temperature", "0", "--json", "-o", str(path))
    assert result.exit_code == 0, result.output
    written = json.loads(path.read_text())
    assert written.pop("command").startswith("specplan validate --target ")
    assert written == json.loads(result.stdout)
    result = run(*validate, "-o", str(tmp_path / "no" / "v.json"))
    assert result.exit_code == 2
    assert "does not exist" in result.stderr


@pytest.mark.parametrize("tokens", ["1", "2"])
def test_the_shortest_texts_are_validated(rows_of: Rows, tokens: str) -> None:
    for row in rows_of("--max-new-tokens", tokens, "--gamma", "4"):
        assert row["tokens"] <= 2 * int(tokens)
        if tokens == "1":
            assert row["target_calls"] == 2
            assert row["accepted_fraction"] is None
