"""`specplan plan --typical`: published acceptance, used only when asked for and named."""

import csv
from pathlib import Path

import pytest
from plan_inputs import run, run_json
from refusals import assert_refused

from specplan.options.acceptances.typical import typical

PUBLISHED = Path(__file__).parents[3] / "benchmarks" / "published_speculation.csv"


def test_every_length_is_one_that_its_source_published() -> None:
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        known = {
            (row["source"], row["draft"], row["target"], row["dataset"], int(row["gamma"]),
             float(row["length"]))
            for row in csv.DictReader(file)
            if row["gamma"].isdigit() and row["length"] and row["length_from"] == "stated"
        }  # fmt: skip
    for each in typical().values():
        for gamma, length in each.lengths.items():
            assert (
                each.source, each.draft, each.target, each.workload, gamma, length
            ) in known  # fmt: skip


def test_the_answer_names_what_it_took_and_from_whom() -> None:
    asked = "--typical eagle3-llama-3.1-8b-chat --c 0.05"
    words = " ".join(run(asked).stdout.split())
    assert "published by sgl-project/SpecForge (2025-12-23). Yours will differ" in words
    plan = run_json(asked)
    assert any("published by sgl-project/SpecForge" in note for note in plan["notes"])
    assert plan["acceptance"]["observed_gamma"] == 7
    lengths = typical()["eagle3-llama-3.1-8b-chat"].lengths
    for gamma, length in lengths.items():
        assert plan["curve"][gamma - 1]["expected_tokens"] == pytest.approx(length, rel=0.05)


def test_an_unknown_name_lists_those_that_are_known() -> None:
    refused = run("--typical list --c 0.05")
    assert_refused(refused, "must be one of eagle3-llama-3.1-8b-chat, ")
    assert all(name in refused.stderr for name in typical())
