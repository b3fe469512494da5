"""`validate --engine`: a live table, and what is refused before anything starts."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from click.testing import CliRunner, Result
from engine_pairs import TARGET
from vllm_server import vllm_server

from engines.settings import EngineSettings
from engines.trials.request import ValidateEngine
from engines.trials.validation import validate
from estimator.settings import PromptSettings, TimingSettings
from specplan.main import main
from specplan.reports.engines import validation_text

SMALL = ["--num-prompts", "2", "--prompt-tokens", "16", "--max-new-tokens", "12", "--repeats", "1"]
TINY = ["--num-prompts", "1", "--prompt-tokens", "4", "--max-new-tokens", "2", "--repeats", "1"]
NOWHERE = "http://127.0.0.1:1"


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


def test_rows_of_llama_cpp_take_the_predicted_steps(
    live: tuple[str, list[dict[str, Any]]]
) -> None:
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


def test_the_table_names_engine_prices_and_audit(
    live: tuple[str, list[dict[str, Any]]]
) -> None:
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
    assert "expected [95 %]" in wide
    assert "expected [95 %]" not in narrow
    # The error of a row is of the two numbers in it; that of the token's time has its own column.
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--server", NOWHERE], "--server needs --engine"),
        (["--concurrency", "4"], "--concurrency needs --engine"),
        (
            ["--engine", "vllm", "--server", NOWHERE],
            "server and target-url must be given together, got one of them",
        ),
        (
            [
                *("--engine", "vllm", "--server", NOWHERE, "--laws", "local"),
                *("--baseline-server", NOWHERE, "--gamma", "2"),
            ],
            f"target-url must be up, got no answer of {NOWHERE}",
        ),
        (
            ["--engine", "transformers", "--server", NOWHERE, "--target-url", NOWHERE],
            "a running server must be llama.cpp's or vllm's, got transformers",
        ),
        (
            ["--engine", "llama.cpp", "--engine-command", "x"],
            "engine-command must be vllm's, got llama.cpp",
        ),
        (
            ["--engine", "vllm", "--threads", "2"],
            "threads must be llama.cpp's or transformers's, got vllm",
        ),
        (
            ["--engine", "vllm", "--precision", "2"],
            "precision needs vllm's servers together: in turn, no speed-up is known before",
        ),
        (
            ["--engine", "vllm", "--engine-command", "no-such-program"],
            "engine-command of vllm must be a program, got no-such-program",
        ),
        (
            ["--engine", "vllm", "--engine-command", "false"],
            "vllm must start, got exit status 1 of",
        ),
        (
            ["--engine", "transformers", "--concurrency", "2"],
            "concurrency must be 1 with transformers",
        ),
        (
            # Before anything starts, as its command would show.
            ["--engine", "vllm", "--engine-command", "no-such-program", "--concurrency", "1,8"],
            "concurrency must be at most the number of prompts, 2 here, of those that are "
            "predicted and of those that are priced, got 8",
        ),
        (
            ["--engine", "transformers", "--draft-sampling", "argmax"],
            "draft-sampling must be sampled with transformers, got argmax",
        ),
        (
            ["--engine", "llama.cpp", "--synthetic", "0.5", "--gamma", "1"],
            "synthetic must be vllm's, got llama.cpp",
        ),
        (
            ["--engine", "llama.cpp", "--laws", "engine"],
            "laws must be local with llama.cpp, whose server scores no given text",
        ),
        (
            ["--engine", "llama.cpp", "--draft", "lookup"],
            "draft must be a model with --engine, got lookup",
        ),
        (["--engine", "llama.cpp", "--gamma", "0,2"], "gamma must be at least 1 with --engine"),
        (
            ["--engine", "vllm", "--gamma", "2", "--synthetic", "0.5"],
            "synthetic must have a rate for each of 2 positions, got 1",
        ),
        (
            ["--engine", "vllm", "--gamma", "2", "--synthetic", "0.5,0.6"],
            "synthetic must be rates in [0, 1] of which none is above the one before it, "
            "got 0.5, 0.6",
        ),
        *(
            (["--engine", "llama.cpp", *stated], f"{stated[0]} cannot be given with --engine")
            for stated in (
                ("--top-k", "5"), ("--policy", "adaptive"), ("--verification", "block"),
                ("--max-gamma", "8"), ("--device", "cpu"), ("--dtype", "float32"),
                ("--draft-temperature", "0"), ("--trust-remote-code",), ("--force",),
                ("--lattice-k", "4"), ("--rescoring-weight", "1"),
            )
        ),
    ],
)  # fmt: skip
def test_refuses(arguments: list[str], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert f"Error: {message}" in result.stderr
    assert len(result.stderr.splitlines()) == 1
