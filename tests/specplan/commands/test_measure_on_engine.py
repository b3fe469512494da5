"""`measure --engine`: a profile of an engine's own steps, and of two log-probabilities a token."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from estimator.traces.trace_file import read_traces, traces_path
from specplan.main import main
from tests.engines.engine_pairs import DRAFT, TARGET
from tests.engines.vllm_server import vllm_server
from tests.specplan.programs import bpe_tokenizer

SMALL = ["--num-prompts", "2", "--prompt-tokens", "12", "--max-new-tokens", "10", "--repeats", "1"]
BRIEF = ["--num-prompts", "1", "--prompt-tokens", "8", "--max-new-tokens", "6", "--repeats", "1"]
TINY = ["--num-prompts", "1", "--prompt-tokens", "4", "--max-new-tokens", "2", "--repeats", "1"]


@pytest.fixture(scope="module")
def on_transformers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the profile of a run on transformers."""
    path = tmp_path_factory.mktemp("transformers") / "profile.json"
    result = measure("--engine", "transformers", "--max-gamma", "4", "-o", str(path), "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == json.loads(path.read_text())
    return path


def measure(*arguments: str, size: Sequence[str] = SMALL) -> Result:
    return CliRunner().invoke(main, ["measure", *arguments, *size])


def plan_of(path: Path) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["plan", "--profile", str(path), "--json"])
    assert result.exit_code == 0, result.output
    plan: dict[str, Any] = json.loads(result.stdout)
    return plan


def test_transformers_gives_a_profile_that_plans_read(on_transformers: Path) -> None:
    path = on_transformers
    profile = json.loads(path.read_text())
    assert profile["setup"]["engine"] == "transformers"
    assert "assistant_confidence_threshold=0" in profile["setup"]["flags"]
    # Runs of the baseline and of blocks of 1 and 4, and of 2 if a line does not fit.
    assert {"1", "2", "5"} <= set(profile["target_ms"]) <= {"1", "2", "3", "5"}
    traces = read_traces(traces_path(path))
    sampled = np.concatenate([pair.sampled.acceptance for pair in traces.values()])
    assert profile["alpha"]["value"] == pytest.approx(sampled.mean())
    assert profile["alpha"]["tokens"] == len(sampled) == 20
    plan = plan_of(path)
    assert plan["acceptance"]["kind"] == "replay"
    assert plan["optimal_gamma"] <= 4 or plan["curve"][4]["extrapolated"]
    factors = [profile["improvement_factor"][str(g)]["replay"] for g in range(1, 5)]
    curve = [row["improvement_factor"] for row in plan["curve"][:4]]
    assert curve == pytest.approx(factors)


def test_llama_cpp_counts_its_own_acceptance_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    arguments = ["--engine", "llama.cpp", "--threads", "1", "--max-gamma", "2"]
    # With two texts, both may by chance end with a whole block.
    result = measure(*arguments, "-o", str(path), size=["--num-prompts", "8", *SMALL[2:]])
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "Acceptance is what the engine counted itself at gamma 2" in words
    profile = json.loads(path.read_text())
    assert profile["draft_sampling"] == "argmax"
    assert profile["setup"]["draft_temperature"] == 0
    assert len(profile["draftings"]["argmax"]["accepted_by_position"]) == 2
    # The last blocks of texts have no room for all that they would draft.
    assert profile["draftings"]["argmax"]["cut_short"] > 0
    assert not traces_path(path).exists()
    assert plan_of(path)["acceptance"]["kind"] == "by_position"


def test_servers_that_run_are_measured_by_log_probabilities_alone(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    with vllm_server(TARGET, name="T") as target, vllm_server(DRAFT, name="D") as draft:
        urls = ["--target-url", target, "--draft-url", draft]
        sampled = ("--draft-sampling", "sampled", "-o", str(path))
        result = measure("--engine", "vllm", *urls, *sampled, size=BRIEF)
    assert result.exit_code == 0, result.output
    profile = json.loads(path.read_text())
    assert profile["setup"]["engine_version"] == "0.0-test"
    traces = read_traces(traces_path(path))
    assert 0 < profile["alpha"]["value"] < 1
    for pair in traces.values():
        assert set(pair.argmax.acceptance) <= {0.0, 1.0}
        assert ((pair.sampled.acceptance > 0) & (pair.sampled.acceptance <= 1)).all()
    assert list(profile["target_ms"]) == ["1"]
    assert profile["c"]["value"] == pytest.approx(profile["draft_ms"] / profile["target_ms"]["1"])
    assert "Verification is assumed to be free, since" in " ".join(result.stdout.split())
    assert profile["setup"]["flags"] == ["concurrency=1", "prices=target and draft alone"]


def test_block_verification_cannot_be_planned_from_an_engines_counts(
    on_transformers: Path,
) -> None:
    asked = ["plan", "--profile", str(on_transformers), "--verification", "block"]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 2, result.output
    assert "an engine reports the probabilities of a text's own tokens, not the" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("retokenised", "the server must decode the ids that it is sent, got 4 others for 4"),
        ("nan", "log-probabilities of a text must be numbers of at most 0, got nan at its token 0"),
        ("refused", "vllm must take the request, got: "),
    ],
)
def test_servers_at_fault_are_refused(fault: str, message: str) -> None:
    with (
        vllm_server(TARGET, name="T", fault=fault) as target,
        vllm_server(DRAFT, name="D") as draft,
    ):
        urls = ["--target-url", target, "--draft-url", draft]
        result = measure("--engine", "vllm", *urls, size=TINY)
    assert result.exit_code == 2, result.output
    assert f"Error: {message}" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    if fault == "refused":
        assert "greater than max allowed" in result.stderr


def test_one_model_at_both_urls_is_refused() -> None:
    with vllm_server(TARGET, name="T") as target:
        urls = ["--target-url", target, "--draft-url", target]
        result = measure("--engine", "vllm", *urls, size=TINY)
    assert result.exit_code == 2
    assert "draft-url must serve another model than target-url, got T at both" in result.stderr


def test_a_draft_of_another_tokenizer_is_refused(tmp_path: Path) -> None:
    bpe_tokenizer(tokens=300).save_pretrained(tmp_path)
    result = measure("--engine", "vllm", "--target", TARGET, "--draft", str(tmp_path))
    assert result.exit_code == 2, result.output
    assert "tokenizer" in result.stderr
    assert len(result.stderr.splitlines()) == 1
