"""`specplan plan` with several drafts: a row for each at one load, the fastest first."""

from pathlib import Path

import pytest

import specplan as sp
from specplan.api.roofline import Roofline
from tests.specplan.plan_inputs import run, run_json

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
TARGET, HEAD = CONFIGS / "llama-3.1-8b.json", CONFIGS / "llama-3.1-8b-eagle3.json"
SMALL = CONFIGS / "llama-3.2-1b.json"
LOAD = f"--target-config {TARGET} --gpu h100 --batch 8 --engine vllm"
DRAFTS = f"--draft config={SMALL},alpha=0.75,name=1B --draft config={HEAD},alpha=0.75,name=head"


def test_each_draft_has_the_row_of_its_own_plan_and_the_fastest_is_first() -> None:
    table = run_json(f"{LOAD} {DRAFTS}")
    assert [row["draft"] for row in table["rows"]] == ["head", "1B"]
    assert table["best_draft"] == "head"
    for row, config in zip(table["rows"], (HEAD, SMALL), strict=True):
        alone = run_json(f"{LOAD} --draft-config {config} --alpha 0.75")
        for key in ("optimal_gamma", "improvement_factor", "gain_probability", "ms_per_token"):
            assert row[key] == alone[key]
    assert table["rows"][0]["improvement_factor"] > table["rows"][1]["improvement_factor"]


def test_the_text_names_the_fastest_draft_and_python_prints_the_same() -> None:
    shown = run(f"{LOAD} {DRAFTS}")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("head with K = ")
    assert "Next is 1B with " in shown.stdout
    drafts = [sp.SizedDraft(SMALL, sp.Iid(0.75), "1B"), sp.SizedDraft(HEAD, sp.Iid(0.75), "head")]
    plans = sp.plan(drafts, Roofline(TARGET, gpu="h100", batch=8, engine="vllm"))
    assert f"{plans}\n" == shown.stdout
    assert '"method": "eagle3", "model": "head"' in plans.flags("vllm")
    assert run(f"{LOAD} {DRAFTS} --export vllm").stdout == f"{plans.flags('vllm')}\n"


def test_a_single_name_is_still_the_drafts_name_in_flags() -> None:
    shown = run("--alpha 0.8 --c 0.1 --draft my/draft --export vllm")
    assert '"model": "my/draft"' in shown.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"{LOAD} {DRAFTS} --alpha 0.5", "--alpha cannot be given with --draft config=FILE"),
        (f"{LOAD} {DRAFTS} --context 1024,2048", "need one --gpu, --tp, --batch and --context"),
        (f"{LOAD} {DRAFTS} --run gamma=0,tpot=9", "--run cannot be combined with several drafts"),
        (f"--target-config {TARGET} {DRAFTS} --gpu h100,h200", "need one --gpu, --tp, --batch"),
        (f"{LOAD} {DRAFTS} --draft-config {HEAD}", "costs on a --gpu, without --draft-config"),
        (f"{LOAD} --draft a --draft b", "must be KEY=VALUE,... with keys config, alpha, rates"),
    ],
)
def test_options_that_contradict_several_drafts_are_refused(words: str, message: str) -> None:
    shown = run(words)
    assert shown.exit_code == 2
    assert message in " ".join(shown.output.split())
