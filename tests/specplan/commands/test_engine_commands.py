"""`validate --engine`: a live table, and what is refused before anything starts."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from click.testing import CliRunner, Result

from engines.kind import EngineSettings
from engines.trials.request import ValidateEngine
from engines.trials.validation import validate
from estimator.settings import PromptSettings, TimingSettings
from specplan.main import main
from specplan.reports.engines import validation_text
from tests.engines.engine_pairs import TARGET
from tests.engines.vllm_server import vllm_server

SMALL = ["--num-prompts", "2", "--prompt-tokens", "16", "--max-new-tokens", "12", "--repeats", "1"]
TINY = ["--num-prompts", "1", "--prompt-tokens", "4", "--max-new-tokens", "2", "--repeats", "1"]


def invoke(*arguments: str, size: Sequence[str] = SMALL) -> Result:
    return CliRunner().invoke(main, ["validate", *arguments, *size])


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[dict[str, Any]]]:
    """Returns the table and the rows of a run on llama.cpp."""
    output = tmp_path_factory.mktemp("live") / "validation.json"
    arguments = ["--engine", "llama.cpp", "--gamma", "3", "--threads", "1", "-o", str(output)]
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout, json.loads(output.read_text())["rows"]


def test_rows_of_llama_cpp_take_the_predicted_steps(live: tuple[str, list[dict[str, Any]]]) -> None:
    _, rows = live
    assert [(row["temperature"], row["gamma"]) for row in rows] == [(0, 3), (1, 3)]
    assert [row["identical_to_target"] for row in rows] == [True, None]
    for row in rows:
        assert row["draft_temperature"] == 0
        assert row["predicted_target_calls"] == pytest.approx(row["target_calls"], abs=1e-6)
        assert row["acceptance_explained"] is True
        assert row["predicted_from"] == "replay"
        assert row["predicted"] == row["predicted_calibrated"]
        assert row["seconds_per_token"] == row["ms_per_token"] / 1e3


def test_the_table_names_engine_prices_and_audit(live: tuple[str, list[dict[str, Any]]]) -> None:
    words = " ".join(live[0].split())
    assert words.startswith("llama.cpp xllamacpp ")
    assert words.count("a step in ms by gamma 3:") == words.count("K accepted predicted") == 2
    # Two short prompts may leave a row in doubt, and then nothing is called explained.
    explained = "Audit: the engine accepts what its models' distributions imply." in words
    assert explained != ("In doubt" in words)
    assert max(map(len, live[0].splitlines())) <= 80


def test_a_request_needs_no_command_line() -> None:
    request = ValidateEngine(
        engine=EngineSettings("transformers"),
        text=PromptSettings(num_prompts=1, prompt_tokens=8, max_new_tokens=6),
        gammas=(2,),
        temperatures=(1.0,),
        timing=TimingSettings(repeats=1),
        seed=0,
    )
    found = validate(request)
    [row] = found.rows
    assert (row.engine, row.concurrency, row.draft_temperature) == ("transformers", 1, 1)
    assert list(found.steps) == [(1.0, 1)]
    wide, narrow = (validation_text(found, wide=each) for each in (True, False))
    assert "expected [90 %]" in wide
    assert "expected [90 %]" not in narrow
    # A row's error compares the two numbers in it; the error of the time has its own column.
    assert f"{row.error_percent:+.1f} %" in narrow
    assert f"{row.time_error_percent:+.1f} %" in wide
    assert "ms error" not in narrow


@pytest.mark.parametrize(
    ("served", "message"),
    [
        ("T", "metrics must have vllm:spec_decode_num_drafts, got none: speculation is off; "
              "--speculative-config turns it on"),
        ("U", "server and target-url must serve one model, got U and T"),
    ],
)  # fmt: skip
def test_running_servers_of_another_kind_are_refused(served: str, message: str) -> None:
    with vllm_server(TARGET, name="T") as target, vllm_server(TARGET, name=served) as server:
        urls = ["--server", server, "--target-url", target]
        asked = ["--laws", "local", *urls, "--gamma", "2", "--temperature", "0"]
        result = invoke("--engine", "vllm", *asked, size=TINY)
    assert result.exit_code == 2, result.output
    assert f"Error: {message}" in result.stderr
