"""`specplan size`: the answer, its JSON, flags, picture, and what is refused."""

import json
import re
import shlex
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

import specplan as sp
from simulator.acceptance.acceptance import Iid
from simulator.traffic.counted import ENOUGH
from specplan.api.size import SizeResult
from specplan.main import main
from specplan.reports.table import WIDTH
from tests.specplan.plan_inputs import both, run, run_json

pytestmark = pytest.mark.usefixtures("few_requests")

LOAD = "--rate 40 --prompt-tokens 1000 --output-tokens 300 --slo ttft=500,tpot=8"


CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
TARGET, DRAFT = CONFIGS / "llama-3.1-8b.json", CONFIGS / "llama-3.1-8b-eagle3.json"
MODELS = f"--target-config {TARGET} --draft config={DRAFT},alpha=0.8,name=small --engine vllm"


@cache
def by_python() -> SizeResult:
    return sp.size(
        TARGET,
        sp.SizedDraft(DRAFT, Iid(0.8), "small"),
        sp.SizeSettings(
            rate=40,
            prompt_tokens=1000,
            output_tokens=300,
            targets={"ttft": 500, "tpot": 8},
            gpus=["h100"],
            gpus_per_replica=[1],
            engine="vllm",
        ),
    )


def test_speculation_saves_gpus_and_the_answer_says_how_many() -> None:
    sizing = run_json(f"{LOAD} {MODELS} --gpu h100 --gpus-per-replica 1,2", "size")
    best, without = sizing["best"], sizing["best_without"]
    assert best["gamma"] > 0
    assert without["gamma"] == 0
    assert sizing["saved_gpus"]["value"] == without["gpus"] - best["gpus"] > 0
    assert 0.5 < sizing["saved_gpus"]["probability"] <= 1
    assert best["gpus"] == best["replicas"] * best["tp"] <= sizing["gpus_90"]
    assert sizing["candidates"][0] == best
    assert (sizing["probability"] >= 0.9) == (sizing["gpus_90"] <= best["gpus"])
    assert sizing["probability"] == best["probability"]
    enough = [fleet["probability"] >= ENOUGH for fleet in sizing["candidates"]]
    assert enough == sorted(enough, reverse=True)
    assert enough[0]
    assert sizing["next_replica_rate"] == best["most_requests_per_second"] >= 40
    assert sizing["simulated"]["share_within"] >= 0.95
    assert sizing["simulated"]["tpot_ms_p50"] < sizing["simulated"]["tpot_ms_p95"] < 8.5
    users = [row["tokens_per_second_per_user"] for row in sizing["pareto"] if row["speculation"]]
    assert users == sorted(users, reverse=True)


def test_a_price_changes_the_aim_of_the_search_and_the_text_opens_with_the_answer() -> None:
    words = f"{LOAD} {MODELS} --gpu h100,h200 --gpus-per-replica 1"
    dear = run_json(f"{words} --price h100=1,h200=9", "size")
    cheap, text = both(f"{words} --price h100=9,h200=1", "size")
    assert dear["best"]["gpu"].startswith("h100")
    assert cheap["best"]["gpu"].startswith("h200")
    assert cheap["best"]["price"] == cheap["best"]["gpus"]
    first = " ".join(text.split("\n\n")[0].split())
    assert " with small and K = 3 for 40 requests/s: enough with a probability of " in first
    without = cheap["best_without"]["gpus"]
    assert f". Without speculation it takes {without} " in first
    assert without > 2 * cheap["best"]["gpus"]
    assert "tokens/s a user" in text
    assert max(map(len, text.splitlines())) <= WIDTH + 20


def test_the_better_of_several_drafts_is_chosen_and_their_temperatures_are_stated() -> None:
    models = MODELS.replace("alpha=0.8", "alpha=0.8,temperature=0.6")
    other = f"--draft config={DRAFT},rates=0.95/0.9/0.85,temperature=0.6,name=better"
    sizing = run_json(f"{LOAD} {models} {other} --gpu h100 --gpus-per-replica 1", "size")
    assert sizing["best"]["draft"] == "better"
    better, small = sizing["drafts"]
    assert {**better, "saved_gpus": sizing["saved_gpus"]} == {
        **sizing["best"],
        "saved_gpus": better["saved_gpus"],
    }
    assert (small["draft"], small["gpus"] >= better["gpus"]) == ("small", True)
    for row in sizing["drafts"]:
        assert row["saved_gpus"]["value"] == sizing["best_without"]["gpus"] - row["gpus"]
        sentence = f"of {row['draft']} holds for: temperature 0.6, draft sampling not stated."
        assert f"The acceptance {sentence}" in sizing["notes"]


@pytest.mark.parametrize("acceptance", ["alpha=0.8", "rates=0.8/0.6"])
def test_a_plan_states_the_temperature_of_each_draft(acceptance: str) -> None:
    draft = f"config={DRAFT},{acceptance},temperature=0.6,name=head"
    models = MODELS.replace(f"config={DRAFT},alpha=0.8,name=small", draft)
    plan = run_json(f"{models} --gpu h100 --draft config={DRAFT},alpha=0.5,name=other")
    assert {row["draft"]: row["temperature"] for row in plan["rows"]} == {
        "head": 0.6, "other": None,
    }  # fmt: skip


def test_drafts_of_one_name_are_refused() -> None:
    shown = run(f"{LOAD} {MODELS} --draft config={DRAFT},alpha=0.6,name=small --gpu h100", "size")
    assert shown.exit_code == 2
    assert "drafts must have different names (name=NAME), got small twice" in shown.output


def test_python_gives_the_numbers_and_the_flags_of_a_replica() -> None:
    words = f"{LOAD} {MODELS} --gpu h100 --gpus-per-replica 1 --export vllm"
    printed, shown = both(words, "size")
    sizing = by_python()
    assert printed.pop("export").rstrip() == shown.rstrip() == sizing.flags("vllm").rstrip()
    assert sizing.json() == printed
    sampling = "temperature not stated, draft sampling not stated"
    hidden = "No measured kernels: the tests hide them."
    assert printed["notes"] == [hidden, f"The acceptance of small holds for: {sampling}."]
    assert printed["basis"].startswith("Rests on your acceptance rate and costs by the roofline of")
    assert "with small and K = 4 for 40 requests/s" in str(sizing).replace("\n  ", " ")
    assert "--max-num-seqs" in shown
    assert '"model": "DRAFT"' in shown  # a label is no path
    assert " ".join(shown.split()).startswith(f"# {printed['sentence'][:30]}")
    flags = sizing.flags("sglang")
    assert "--max-running-requests" in flags
    assert "DRAFT" in flags


def test_the_next_runs_come_as_a_command_that_a_shell_takes() -> None:
    words = f"{LOAD} {MODELS} --gpu h100 --gpus-per-replica 1"
    sizing, text = both(words.replace("alpha=0.8", "rates=0.8/0.6"), "size")
    command = sizing["next_command"]
    shown = re.search(r"(?s)specplan traffic.*?(?=\n\d+ combinations)", text)
    assert shown is not None
    assert shlex.split(shown[0].replace("\\\n", "")) == shlex.split(command)
    best, (_, traffic, *options) = sizing["best"], shlex.split(command)
    assert traffic == "traffic"
    assert "0.8,0.6" in options
    times = {"gamma=0,tpot=MS": "gamma=0,tpot=7.5", f"gamma={best['gamma']},tpot=MS,length=L":
             f"gamma={best['gamma']},tpot=5.1,length=2.2"}  # fmt: skip
    for blank, run_of in times.items():
        assert f"--run {blank}," in command
        options = [word.replace(blank, run_of) for word in options]
    after = CliRunner().invoke(main, ["traffic", *options, "--json"])
    assert after.exit_code == 0, after.output
    answer = json.loads(after.stdout)
    assert answer["replicas"] == best["replicas"]
    assert answer["rows"][0]["rate"] == sizing["rate"]


def test_a_result_and_its_deployments_are_shown_in_a_line() -> None:
    sizing = by_python()
    assert repr(sizing) == f"<size: {sizing.json()['sentence']}>"
    assert len(str(sizing.best)) < 500


def test_names_of_gpus_and_formats_may_be_texts() -> None:
    several = {"gpus": ("h100", "h200"), "dtypes": ("fp8", "bfloat16")}
    texts = {name: ",".join(listed) for name, listed in several.items()}
    goal = {"rate": 4, "prompt_tokens": 99, "output_tokens": 99, "targets": {"tpot": 20}}
    answers = [
        sp.size(
            TARGET,
            sp.SizedDraft(DRAFT, Iid(0.8), "owner/head"),
            sp.SizeSettings(**goal, **named, gpus_per_replica=[1], check=False),
        )
        for named in (several, texts)
    ]
    assert answers[0].json() == answers[1].json()
    assert '"model": "owner/head"' in answers[0].flags("vllm")


def test_formats_have_no_case_and_targets_in_seconds_are_questioned() -> None:
    models = f"{MODELS} --gpu h100 --gpus-per-replica 1"
    assert run_json(f"{LOAD} {models} --dtype FP8", "size")["best"]["dtype"] == "fp8"
    load = LOAD.replace("ttft=500,tpot=8", "ttft=0.5,tpot=0.008")
    shown = run(f"{load} {models}", "size")
    assert "if this is in seconds, write ttft=500,tpot=8." in " ".join(shown.output.split())


def test_a_swapped_target_and_draft_are_named() -> None:
    models = MODELS.replace(str(TARGET), "T").replace(str(DRAFT), str(TARGET))
    shown = run(f"{LOAD} {models.replace(' T ', f' {DRAFT} ')} --gpu h100", "size")
    assert shown.exit_code == 2
    assert "a head: are target and draft swapped?" in shown.output


def test_targets_that_no_gpu_keeps_are_an_answer() -> None:
    load = LOAD.replace("tpot=8", "tpot=0.1")
    models = f"{MODELS} --gpu h100 --gpus-per-replica 1"
    none, text = both(f"{load} {models}", "size")
    assert "No deployment keeps TTFT 500 ms and TPOT 0.1 ms for 95" in text
    assert "write ttft=500,tpot=100." in " ".join(text.split())
    assert none["best"] is None
    refused = run(f"{load} {models} --export vllm", "size")
    assert refused.exit_code == 2
    assert "flags need a deployment that keeps the targets, got none" in refused.output


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ("--share 1", "Invalid value for '--share': must lie between 0 and 1, got 1"),
        ("--share 95", "must lie in [0, 1], got 95: for per cent write 95%"),
        ("--dtype fp9", "'--dtype': 'fp9' is not one of 'bfloat16', 'float16', 'float32', 'fp8'"),
        ("--dtype q4_k_m", "'q4_k_m' is a mix of formats: give the .gguf file itself"),
        ("--tp 2", "No such option '--tp': state the GPUs of a replica (--gpus-per-replica 2)"),
        ("--gpu h1000", "h1000"),
        ("--price h200=1", "--price must have one for h100-sxm, got h200"),
        ("--price h100=0", "must be above 0, got 'h100=0'"),
        ("--price h100", "must be GPU=PRICE,..., each GPU once, got 'h100'"),
        ("--gpus-per-replica 3", "left out"),
    ],
)
def test_bad_options_are_refused_in_one_line(changed: str, message: str) -> None:
    gpu = "" if changed.startswith("--gpu ") else "--gpu h100"
    shown = run(f"{LOAD} {MODELS} {gpu} {changed}", "size")
    assert shown.exit_code == 2, shown.output
    assert message in " ".join(shown.output.split())


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        ("alpha=0.7", "must state config and one of alpha and rates, got 'alpha=0.7'"),
        ("config=D,alpha=0.7,rates=0.5", "must state config and one of alpha and rates"),
        ("config=D,beta=0.7", "keys config, alpha, rates, name, temperature, got 'beta=0.7'"),
        ("config=D,alpha=0.7,temperature=-1", "temperature must be at least 0, got -1"),
        ("config=D,config=E", "config is given twice in 'config=D,config=E'"),
    ],
)
def test_a_draft_is_refused(draft: str, message: str) -> None:
    stated = MODELS.partition("--draft")[0]
    shown = run(f"{LOAD} {stated} --draft {draft} --gpu h100", "size")
    assert shown.exit_code == 2
    assert message in " ".join(shown.output.split())
