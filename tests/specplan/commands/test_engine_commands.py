"""`validate --engine`: a live table, and what is refused before anything starts."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result
from engine_pairs import TARGET
from vllm_server import vllm_server

from specplan.main import main

SMALL = ["--num-prompts", "2", "--prompt-tokens", "16", "--max-new-tokens", "16", "--repeats", "1"]
Run = Callable[..., Result]


def validate(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["validate", *arguments])


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)["rows"]
    return found


@pytest.fixture(scope="module")
def live() -> Result:
    arguments = ["--engine", "llama.cpp", "--gamma", "1,3", "--threads", "1", *SMALL, "--json"]
    return validate(*arguments)


def test_greedy_rows_of_llama_cpp_are_the_targets_text_in_the_predicted_steps(live: Result) -> None:
    greedy = [row for row in rows(live) if row["temperature"] == 0]
    assert [row["gamma"] for row in greedy] == [1, 3]
    for row in greedy:
        assert row["identical_to_target"] is True
        assert row["predicted_target_calls"] == pytest.approx(row["target_calls"], abs=1e-6)
        assert row["acceptance_explained"] is True
        assert row["predicted_from"] == "replay"


def test_argmax_drafts_of_llama_cpp_are_explained_at_temperature_one(live: Result) -> None:
    sampled = [row for row in rows(live) if row["temperature"] == 1]
    for row in sampled:
        assert row["draft_temperature"] == 0
        assert row["predicted_target_calls"] == pytest.approx(row["target_calls"], abs=1e-6)
        assert row["acceptance_explained"] is True


def test_the_table_names_engine_prices_and_audit() -> None:
    asked = ("--engine", "transformers", "--gamma", "2", "--temperature", "0,1", *SMALL)
    result = validate(*asked)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert words.startswith("transformers 5.")
    assert words.count("a step in ms by gamma 2:") == words.count("gamma accepted law") == 2
    assert "Audit: the engine accepts what its models' laws allow." in words
    assert max(map(len, result.stdout.splitlines())) <= 80
    wide = validate(*asked, "--wide").stdout
    assert "law [95 %]" in wide
    assert "law [95 %]" not in result.stdout


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
        result = validate("--engine", "vllm", "--laws", "local", *urls, "--gamma", "2", *SMALL)
    assert result.exit_code == 2, result.output
    assert f"Error: {message}" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--server", "http://127.0.0.1:1"], "server must come with --engine, got none"),
        (["--concurrency", "4"], "concurrency must come with --engine, got none"),
        (
            ["--engine", "vllm", "--server", "http://127.0.0.1:1"],
            "server and target-url must be given together, got one of them",
        ),
        (
            [
                *("--engine", "vllm", "--server", "http://127.0.0.1:1", "--laws", "local"),
                *("--baseline-server", "http://127.0.0.1:1", "--gamma", "2"),
            ],
            "target-url must be up, got no answer of http://127.0.0.1:1",
        ),
        (
            ["--engine", "llama.cpp", "--engine-command", "x"],
            "engine-command must be vllm's, got llama.cpp",
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
        (["--engine", "llama.cpp", "--top-k", "5"], "top-k cannot be given with --engine, got 5"),
        (
            ["--engine", "llama.cpp", "--policy", "adaptive"],
            "policy cannot be given with --engine, got ('adaptive',)",
        ),
        (
            ["--engine", "llama.cpp", "--verification", "block"],
            "verification cannot be given with --engine, got block",
        ),
    ],
)
def test_refuses(arguments: list[str], message: str) -> None:
    result = validate(*arguments, *SMALL)
    assert result.exit_code == 2, result.output
    assert f"Error: {message}" in result.stderr
    assert len(result.stderr.splitlines()) == 1
