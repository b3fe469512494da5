"""Plans from what a server did: from runs, and from runs with a roofline."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from specplan.options.runs import parse_run
from tests.engines.metrics_pages import ANSWER, BENCH, SGLANG_BENCH
from tests.specplan.plan_inputs import run, run_json

# Published: Apertus 8B with an EAGLE head, one sequence (docs/roofline.md); γ 3 had 2.16 ms.
APERTUS = (
    "--run gamma=0,tpot=5.82 --run gamma=1,length=1.853,tpot=3.375 "
    "--run gamma=7,length=4.522,tpot=1.765"
)


def planned(text: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(f"{text} --json").stdout)
    return answer


@cache
def printed(text: str) -> str:
    """Returns what a plan of runs prints that several tests read."""
    return run(text).stdout


def test_two_runs_and_a_baseline_tell_the_gamma_between_them() -> None:
    plan = planned(f"{APERTUS} --max-gamma 8")
    assert plan["cost"] == {"kind": "runs", "evidence": 3, "model": None, "source": None}
    curve = plan["curve"]
    assert isinstance(curve, list)
    assert curve[2]["ms_per_token_low"] < 2.16 < curve[2]["ms_per_token_high"]
    assert curve[2]["ms_per_token"] == pytest.approx(2.16, rel=0.05)
    assert curve[2]["tokens_per_second"] == pytest.approx(1e3 / curve[2]["ms_per_token"])
    assert curve[6]["improvement_factor"] == pytest.approx(5.82 / 1.765, rel=0.02)
    assert [point["extrapolated"] for point in curve] == 7 * [False] + [True]


def test_one_run_gives_a_range_and_the_run_to_try_next() -> None:
    plan = planned("--run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,length=2.85 --max-gamma 12")
    low, high = plan["improvement_factor_low"], plan["improvement_factor_high"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert low < float(str(plan["improvement_factor"])) < high
    following = plan["next_run"]
    assert isinstance(following, dict)
    assert following["gamma"] not in (0, 3)
    text = run("--run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,length=2.85").stdout
    words = " ".join(text.split())
    added = f"--run gamma={following['gamma']},tpot=MS,length=L to this command (MS: milliseconds"
    assert f"Next: run K = {following['gamma']} at batch 1, and add {added}" in words
    assert following["gamma"] == plan["advised_gamma"]
    assert words.count("Run K = ") == 1
    assert re.search(
        rf"Run K = {following['gamma']} next, and keep K = {following['gamma']} if it is faster "
        r"than K = 3, the fastest run \(1\.7\d times\)\. Expected of K = \d: 1\.\d\d times .*?, "
        r"\d % faster than K = 3 \(odds \d\d %\)\.",
        words,
    )
    assert "ms/token  tokens/s" in text


def test_a_stated_acceptance_gives_the_length_that_a_run_lacks() -> None:
    head = "--alpha 0.7 --run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1"
    bare, stated = planned(head), planned(f"{head},length=2.533")  # 1 + 0.7 + 0.49 + 0.343
    assert "Lengths that a run lacks" in str(bare.pop("notes"))
    assert bare["improvement_factor"] == pytest.approx(stated["improvement_factor"])
    observed = "--acceptance-by-position 0.8,0.6,0.4 --run gamma=0,tpot=7.1"
    assert run(f"{observed} --run gamma=2,tpot=4.1").exit_code == 0
    models = f"{MODELS} --alpha 0.7"
    text = " ".join(run(f"{models} --batch 16").stdout.split())
    found = re.search(r"add (--run gamma=0,\S+) (--run gamma=\d+,\S+) to this command", text)
    assert found is not None
    assert found[1].endswith("tpot=MS,batch=16")
    runs = f"{found[1]} {found[2]}".replace("MS", "9", 1).replace("MS", "8", 1)
    assert run(f"{models} --batch 16 {runs}").exit_code == 0


UNSURE = "--run gamma=0,tpot=15 --run gamma=5,tpot=17,length=1.9"


def test_a_gain_that_is_likelier_than_a_loss_is_advised_with_its_probability() -> None:
    plan = planned(UNSURE)
    low, high = plan["improvement_factor_low"], plan["improvement_factor_high"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert low < 1 < high
    assert (plan["advised_gamma"], plan["gain_certain"], plan["test_gamma"]) == (2, False, None)
    assert 0.5 < float(str(plan["gain_probability"])) < 0.95
    assert '"num_speculative_tokens": 2' in run(f"{UNSURE} --export vllm").stdout


def test_where_a_gain_is_certain_it_is_advised() -> None:
    plan = planned(f"{APERTUS} --max-gamma 8")
    assert plan["gain_certain"] is True
    assert int(str(plan["advised_gamma"])) > 0


def test_a_faster_gamma_beyond_the_observed_is_advised_and_the_next_run() -> None:
    head = "--run gamma=0,tpot=10 --run gamma=3,tpot=3,length=3.85 --draft-kind eagle3"
    for also, ran, most in (("", 3, 5), (" --run gamma=5,tpot=2.4,length=5.5", 5, 7)):
        found = planned(head + also)
        # Two beyond the observed ones.
        assert found["advised_gamma"] == found["next_run"]["gamma"] == most
        assert found["fastest_run"]["gamma"] == ran


def test_a_run_without_baseline_is_relative_to_the_fitted_one() -> None:
    plan = planned("--run gamma=3,tpot=4.1,length=2.85 --max-gamma 5")
    assert 3 < float(str(plan["baseline_ms_per_token"])) < 4.1 * 2.85
    wide = float(str(plan["improvement_factor_high"])) / float(str(plan["improvement_factor_low"]))
    assert wide > 1.5


@pytest.mark.parametrize(
    ("text", "seconds", "length"),
    [
        ("gamma=3,tpot=4.1,length=2.85", 4.1e-3, 2.85),
        ("K=3,tpot=4.1,length=2.85", 4.1e-3, 2.85),
        ("gamma=3,tps=250,rates=0.8/0.6/0.4", 4e-3, 2.8),
        ("gamma=4,total_tps=2000,batch=8,accepted=300/400", 4e-3, 4.0),
        ("gamma=2,tpot=5,accepted=50%", 5e-3, 2.0),
        ("gamma=0,tpot=7.1", 7.1e-3, 1.0),
    ],
)
def test_runs_are_read_in_every_form(text: str, seconds: float, length: float) -> None:
    parsed = parse_run(text)
    assert parsed.seconds_per_token == pytest.approx(seconds)
    assert parsed.length == pytest.approx(length)


@pytest.mark.parametrize(
    ("stated", "error"), [("", 0.02), (",error=0.5%", 0.005), (",error=0.5", 0.005)]
)
def test_the_error_of_a_run_is_in_per_cent(stated: str, error: float) -> None:
    assert parse_run(f"gamma=0,tpot=7.1{stated}").error == pytest.approx(error)


def test_runs_of_one_setting_that_disagree_widen_its_interval() -> None:
    def width(*runs: str) -> float:
        point = planned(" ".join(f"--run {each}" for each in runs))["curve"][2]
        return float(point["improvement_factor_high"] / point["improvement_factor_low"])

    # So many blocks that the length is certain.
    plain, first = "gamma=0,tpot=7.1", "gamma=3,tpot=4.1,accepted=18500/30000"
    once = width(plain, first)
    assert width(plain, first, "gamma=3,tpot=4.5,accepted=18500/30000") > 1.05 * once
    assert width(plain, first, first) < once


EARLY = "--run gamma=0,tps=60 --run gamma=8,tps=78,accepted=305/500"


def test_counts_that_gamma_does_not_divide_are_of_drafts_that_ended_early() -> None:
    """500 drafted tokens are no whole blocks of 8: 63 to 500 calls, 1.6 to 5.9 tokens each."""
    assert 1.61 < planned(EARLY)["curve"][7]["expected_tokens"] < 5.88


def test_a_run_with_drafts_that_ended_early_costs_its_drafted_tokens() -> None:
    """A block took 38.9 ms, 22.2 more than a step: 6.7 ms for each of 3.3 drafted tokens."""
    plan = planned(f"{EARLY},tokens=455")
    assert 0.28 < plan["c"] < 0.42
    curve = plan["curve"]
    assert isinstance(curve, list)
    assert 1.05 < curve[2]["improvement_factor"] < 1.25
    assert curve[7]["improvement_factor"] < 1


def test_a_run_to_keep_is_the_advice_of_text_and_json() -> None:
    """Drafts of 3.3 tokens on average gain half; whole drafts are expected to gain less."""
    words = "--run gamma=0,tpot=15 --run gamma=8,tpot=10,accepted=2000/3300,tokens=3000"
    plan, text = planned(words), run(words).stdout
    assert plan["kept"]["gamma"] == plan["advised_gamma"] == 8
    assert "\nKeep K = 8 " in text
    assert plan["optimal_gamma"] != 8


BATCHES = (
    "--run gamma=0,tpot=7.1 --run gamma=3,tpot=3.9,rates=0.82/0.61/0.42 "
    "--run gamma=0,tpot=12,batch=32 --run gamma=3,tpot=9.5,rates=0.82/0.61/0.42,batch=32"
)


def test_runs_at_several_batches_need_no_configurations() -> None:
    plan = planned(f"{BATCHES} --batch 1,8,32,64 --gamma 3")
    rows = plan["rows"]
    assert isinstance(rows, list)
    assert [row["estimated"] for row in rows] == [None, "between", None, "beyond"]
    gains = [row["improvement_factor"] for row in rows]
    assert gains[0] == pytest.approx(7.1 / 3.9, rel=0.02)
    assert gains[2] == pytest.approx(12 / 9.5, rel=0.02)
    assert gains[2] < gains[1] < gains[0]
    schedule = plan["schedule"]
    assert isinstance(schedule, list)
    assert schedule[-1]["last_batch"] == 64
    text = run(f"{BATCHES} --batch 1,8,32,64").stdout
    assert "interpolated" in text
    assert "beyond your runs" in text
    assert "\nDraft K = " in text


def test_an_export_interpolates_between_the_batches_that_were_run() -> None:
    runs = (
        "--run gamma=0,tpot=7.1 --run gamma=4,tpot=3.6,length=2.9 --run gamma=0,tpot=12,batch=32 "
        "--run gamma=4,tpot=9.8,length=2.9,batch=32 --run gamma=2,tpot=8.8,length=2.3,batch=32 "
        "--draft-kind eagle3 --export vllm"
    )
    flags = run(runs).stdout
    assert flags == run(f"{runs} --batch 1:32:1").stdout
    assert ", [2, 32, " not in flags
    assert "per_batch_size" in flags


def test_a_batch_that_lacks_a_run_is_named_and_has_no_speed_up() -> None:
    text = " ".join(run(f"{BATCHES} --run gamma=3,tpot=20,length=2.8,batch=128").stdout.split())
    assert "Batch 128 has no run without speculation" in text
    assert "add the run gamma=0,batch=128" in text


ALIKE = (
    "--near 3 --run gamma=0,tpot=7.1 --run gamma=3,tpot=4.3,length=2.85 "
    "--run gamma=3,tpot=8.2,length=2.85,batch=32"
)
COMPLETE = f"{ALIKE} --run gamma=0,tpot=11,batch=32 --batch 1:64:7"


def test_batches_between_runs_of_one_gamma_keep_it_as_the_runs_do() -> None:
    plan = planned(COMPLETE)
    assert {row["advised_gamma"] for row in plan["rows"]} == {3}
    assert [each["gamma"] for each in plan["schedule"]] == [3]
    text = printed(COMPLETE)
    assert "mixture" not in text
    assert "still pays at batch 64, the largest planned.\n" in text
    between = " ".join(run(COMPLETE.replace("1:64:7", "8")).stdout.split())
    assert ", as runs of this K gained at other batches." in between


def test_a_row_whose_gamma_was_run_is_not_marked_as_extrapolated() -> None:
    rows = [line.split() for line in printed(COMPLETE).splitlines() if line[:5].strip().isdigit()]
    assert rows[0][:3] == ["1", "4+", "3"]
    assert all("+" not in row[3:] for row in rows)
    assert "+ beyond the observed gamma" in printed(COMPLETE)


def test_an_export_names_the_gap_in_the_runs_and_odds_once() -> None:
    gap = run(f"{ALIKE} --batch 1:64:1 --draft-kind eagle3 --export vllm")
    warned = " ".join(gap.stderr.split())
    assert "Batch 32 has no run without speculation" in warned
    assert "63 batch sizes from 2 to 64 lie beyond your runs" in warned
    sure = run(f"{COMPLETE.replace('1:64:7', '1,32')} --draft-kind eagle3 --export vllm").stdout
    assert "# The probability of a gain is over 99 %." in sure


MODELS = (
    "--target-config docs/configs/llama-3.1-8b.json --gpu h100 --engine vllm "
    "--draft-config docs/configs/llama-3.1-8b-eagle3.json "
)


FILES = {
    "vllm.json": BENCH,
    "off.json": BENCH.replace("spec_decode", "decode"),
    "sglang.json": SGLANG_BENCH,
    "sglang_off.json": SGLANG_BENCH.replace("2.5", "null"),
    "llama.json": ANSWER,
    "llama_off.json": '{"timings": {"predicted_n": 65, "predicted_ms": 640.0}}',
    "untimed.json": BENCH.replace("_tpot_", "_ttft_"),
    "silent.json": BENCH.replace("200", "0").replace("600", "0").replace("0.6, 0.3, 0.1", "0, 0"),
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes what benches saved into the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("text", "gamma", "milliseconds", "length", "batch"),
    [
        ("file=vllm.json", 3, 5.0, 2.0, 4),
        ("file=vllm.json,gamma=3,batch=1", 3, 5.0, 2.0, 1),
        ("file=off.json,gamma=0", 0, 5.0, 1.0, 4),
        ("file=sglang.json,gamma=3", 3, 4.0, 2.5, 4),
        ("file=sglang_off.json,gamma=0", 0, 4.0, 1.0, 4),
        # 34 of 90 drafted tokens stood in 30 blocks; 64 tokens after the first took 320 ms.
        ("file=llama.json,gamma=3", 3, 5.0, 64 / 30, 1),
        ("file=llama_off.json,gamma=0", 0, 10.0, 1.0, 1),
    ],
)
def test_runs_are_read_from_files_of_benches(
    text: str, gamma: int, milliseconds: float, length: float, batch: int
) -> None:
    parsed = parse_run(text)
    assert (parsed.gamma, parsed.load.batch) == (gamma, batch)
    assert parsed.seconds_per_token == pytest.approx(milliseconds / 1e3)
    assert parsed.length == pytest.approx(length)


@pytest.mark.usefixtures("files")
def test_a_file_plans_as_its_numbers_do() -> None:
    numbers = planned("--run gamma=0,tpot=5,batch=4 --run gamma=3,tpot=5,rates=0.6/0.3/0.1,batch=4")
    files = planned("--run file=off.json,gamma=0 --run file=vllm.json")
    assert files["optimal_gamma"] == numbers["optimal_gamma"]
    assert files["improvement_factor"] == pytest.approx(numbers["improvement_factor"], rel=1e-3)


def test_lengths_of_runs_that_rise_are_named_and_planned_by_the_law() -> None:
    """Before, K = 32 was the best, with 14.9 tokens per call."""
    runs = "--run gamma=0,tpot=6.74 --run gamma=3,tpot=5.11,length=2.33 "
    found = run_json(f"{runs}--run gamma=2,tpot=5.67,length=1.87")
    assert (found["optimal_gamma"], found["advised_gamma"]) == (3, 3)
    assert found["curve"][-1]["expected_tokens"] < 3
    (note,) = found["notes"]
    assert note.startswith("2.33 tokens per call at gamma 3 do not fit the 1.87 at gamma 2")


def test_a_speculating_zero_gives_three_choices_and_is_no_baseline() -> None:
    runs = "--run gamma=0,tpot=10 --run gamma=3,tpot=10.5,length=2"
    marked = f"{runs} --run gamma=0,speculating,tpot=11.2"
    plain, plan = planned(runs), planned(marked)
    zero = plan.pop("zero")
    assert plain.pop("zero") is None
    assert isinstance(zero, dict)
    assert zero["ratio"] == pytest.approx(1.12)
    assert zero["low"] < 1.12 < zero["high"]
    assert zero["source"] == "your runs at batch 1"
    assert zero["faster_gamma"] == 2
    assert {**plan, "notes": None} == {**plain, "notes": None}
    text = " ".join(run(marked).stdout.split())
    assert "takes 1.12 times [1.07, 1.17] the time of one without speculation" in text
    gain = 100 * (zero["ratio"] * plan["curve"][1]["improvement_factor"] - 1)
    assert f"one that has its draft anyway is {gain:.0f} % faster with K = 2" in text


def test_a_schedule_drafts_on_where_drafting_nothing_is_slower() -> None:
    runs = "--run gamma=0,tpot=10 --run gamma=3,tpot=7,length=2.3 "
    runs += "--run gamma=0,tpot=20,batch=64 --run gamma=3,tpot=21.5,length=2.3,batch=64"
    marked = f"{runs} --run gamma=0,speculating,tpot=23,batch=64"
    plain, plan = (planned(f"{each} --batch 1:64:9") for each in (runs, marked))
    (without,), (last,) = plain["last_batch"], plan["last_batch"]
    assert without["against_none"] == without["against_zero"] < 64
    assert last == {**without, "against_zero": 64}
    assert plain["schedule"][-1]["gamma"] == 0
    assert plan["schedule"][-1]["gamma"] > 0
    text = " ".join(run(f"{marked} --batch 1:64:9").stdout.split())
    assert f"Beyond batch {without['against_none']} a server without speculation" in text
    assert "should draft up to batch 64" in text


def test_flags_of_one_k_say_why_they_draft_where_the_plan_has_none() -> None:
    runs = "--run gamma=0,tpot=6.835 --run gamma=1,tpot=7.504,length=1.613 --draft-kind eagle3 "
    runs += "--run gamma=0,tpot=9.771,batch=32 --run gamma=1,tpot=9.907,length=1.613,batch=32"
    assert {part["gamma"] for part in planned(runs)["schedule"]} == {0, 2}
    flags = run(f"{runs} --export vllm").stdout
    assert "num_speculative_tokens_per_batch_size" not in flags
    assert "the time of one\n# without speculation at batch" in flags


def test_an_advised_k_that_ran_without_a_baseline_is_not_called_unrun() -> None:
    alone = "--run gamma=3,tpot=5,length=2.5 --max-gamma 3"
    assert "the fastest run" not in run(alone).stdout
    longer = run(alone.replace("--max-gamma 3", "--max-gamma 4")).stdout
    runs = (
        "\nRun K = 0 (no speculation) and K = 4 next, and keep K = 4 if it is faster than K\n  = 3,"
    )
    assert runs in longer


def test_a_word_that_marks_a_run_needs_gamma_zero() -> None:
    with pytest.raises(ValueError, match="speculating must be given with gamma=0 only"):
        parse_run("gamma=3,speculating,tpot=5,length=2")
