"""`validate --decoder bild` and `align`: what they print, what they write, what they refuse."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from transformers import AutoTokenizer

from estimator.timing.arms import without_draft
from simulator.numerics.intervals import CONFIDENCE
from tests.specplan.interruptions import KilledError, killed_at_a_checkpoint
from tests.specplan.model_folders import PROMPTS, llama
from tests.specplan.programs import Run, RunJson

BILD = ("--decoder", "bild", "--repeats", "1")
THRESHOLDS = ("--fallback", "0.2,0.6", "--rollback", "1,inf")


def test_a_sweep_prints_quality_and_latency(run_json: RunJson, small: list[str]) -> None:
    result = run_json("validate", *small, *BILD, *THRESHOLDS, "--gamma", "2", "--windows", "3")
    rows = result["rows"]
    assert [row["decoder"] for row in rows] == [
        "large", "small", *["bild"] * 4, *["window"] * 2, "strict", "lenient"
    ]  # fmt: skip
    thresholds = [(row["fallback"], row["rollback"], row["most"]) for row in rows[2:8]]
    assert thresholds == [
        (0.2, 1, 10), (0.6, 1, 10), (0.2, None, 10), (0.6, None, 10), (0, 1, 3), (0, None, 3)
    ]  # fmt: skip
    assert all(row["temperature"] == 0 for row in rows)
    assert result["summaries"][0]["metric"] == "agreement"
    assert any(row["pareto"] for row in rows)


def test_a_sweep_reads_as_a_table(run: Run, small: list[str]) -> None:
    thresholds = ("--fallback", "0.6", "--rollback", "1", "--gamma", "2")
    result = run("validate", *small, *BILD, *thresholds, "--num-prompts", "2")
    assert result.exit_code == 0, result.output
    assert "<- front" in result.stdout
    assert "At most 0.1 points lost: bild" in result.stdout


def test_references_are_judged_and_must_be_whole(
    run: Run, run_json: RunJson, folders: Path, tmp_path: Path
) -> None:
    rows = [{"prompt": prompt, "reference": "a b c d e"} for prompt in PROMPTS[:2]]
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    pair = ("--target", "encdec", "--draft", "encdec-draft", "--max-new-tokens", "6")
    one = ("--fallback", "0.6", "--rollback", "1", "--gamma", "2")
    result = run_json("validate", *pair, "--prompts", str(path), *BILD, *one)
    assert result["summaries"][0]["metric"] == "bleu"
    del rows[1]["reference"]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    refused = run("validate", *pair, "--prompts", str(path), *BILD, *THRESHOLDS)
    assert refused.exit_code == 2
    assert "references must be as many as the prompts, 2, got 1" in refused.stderr


GENERATE = (
    *("generate", "--target", "target", "--prompt", "def fib(n):", "--temperature", "0"),
    *("--max-new-tokens", "12"),
)


def test_generated_by_thresholds_the_limits_are_the_two_models(run_json: RunJson) -> None:
    def bild(fallback: str, rollback: str) -> Any:
        thresholds = ("--fallback", fallback, "--rollback", rollback)
        return run_json(*GENERATE, "--draft", "draft", "--decoder", "bild", *thresholds)

    alone = run_json(*GENERATE, "--decoder", "autoregressive")
    large, small, between = bild("1.1", "inf"), bild("0", "inf"), bild("0.3", "0")
    assert large["tokens"] == alone["tokens"]
    assert large["target_calls"] == large["draft_calls"] == len(large["tokens"])
    assert small["target_calls"] == len(small["tokens"]) // 11  # 10 drafted, then the large one's
    assert small["rollbacks"] == small["discarded"] == 0
    assert not between["lossless"]
    assert between["discarded"] == between["drafted"] - between["accepted"]


def test_the_counts_of_a_generation_by_thresholds_are_printed(run: Run) -> None:
    result = run(*GENERATE, "--draft", "draft", "--decoder", "bild", "--fallback", "1.1")
    printed = " ".join(result.stderr.split())
    calls = r"^(\d+) tokens .* \1 calls of the small model; fallback 100.0 %, rollback 0.0 % of"
    assert re.match(calls, printed)
    assert "Lossy: the rule rollback 2 changes the output distribution." in printed


ALIGN = (
    *("align", "--target", "target", "--prompts", "prompts.txt", "--num-prompts", "4"),
    *("--max-new-tokens", "8", "--held-out", "2", "--steps", "6", "--batch", "2"),
)


def test_an_aligned_draft_is_a_folder_that_draft_takes(
    run_json: RunJson, small: list[str], tmp_path: Path
) -> None:
    output = tmp_path / "aligned"
    result = run_json(*ALIGN, "--draft", "draft", "--loss", "hard", "-o", str(output))
    assert result["texts"] == result["held_out"] == 2
    for measure in ("alpha", "fallbacks", "rollbacks"):
        parts = result[measure]
        change = parts["after"]["value"] - parts["before"]["value"]
        assert parts["change"]["value"] == change
        assert parts["change"]["low"] <= change <= parts["change"]["high"]
    assert result["confidence"] == CONFIDENCE
    equal = result["as_many_calls"]
    assert 0 < equal["fallback"] < 1
    assert equal["rollbacks"]["before"] == result["rollbacks"]["before"]
    assert abs(equal["fallbacks"]["change"]["value"]) <= 0.5
    assert [path.name for path in tmp_path.iterdir()] == ["aligned"]
    assert json.loads((output / "training.json").read_text())["steps"] == 6
    options = [str(output) if option == "draft" else option for option in small]
    least = ("--max-gamma", "1", "--repeats", "1")
    assert run_json("measure", *options, *least)["alpha"]["value"] > 0


def test_an_exit_is_trained_with_its_target(run_json: RunJson, tmp_path: Path) -> None:
    output = tmp_path / "exits"
    result = run_json(*ALIGN, "--draft", "exit:1", "-o", str(output))
    assert result["loss"] == "exits"
    assert (output / "model.safetensors").is_file()


def test_a_killed_alignment_resumes_with_nothing_lost(
    run: Run, run_json: RunJson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_json(*ALIGN, "--draft", "draft", "-o", str(tmp_path / "whole"))
    output = tmp_path / "killed"
    monkeypatch.setattr("studies.bild.alignment.KEPT_EVERY", 1)
    written = 0

    def die_at_the_third(*arguments: Any, **settings: Any) -> Any:
        nonlocal written
        written += 1
        if written == 3:
            raise KilledError
        return without_draft(*arguments, **settings)

    with monkeypatch.context() as patches:
        patches.setattr("studies.bild.alignment.without_draft", die_at_the_third)
        with pytest.raises(KilledError):
            run(*ALIGN, "--draft", "draft", "-o", str(output))
    assert len(json.loads((tmp_path / "killed.texts.json").read_text())["texts"]) == 2
    with killed_at_a_checkpoint(monkeypatch):
        run(*ALIGN, "--draft", "draft", "-o", str(output))
    assert not output.exists()
    resumed = run_json(*ALIGN, "--draft", "draft", "-o", str(output))
    assert resumed["resumed_at_step"] == 6
    for name in ("seconds", "resumed_at_step", "output"):
        del whole[name], resumed[name]
    assert resumed == whole
    assert (output / "model.safetensors").read_bytes() == (
        tmp_path / "whole" / "model.safetensors"
    ).read_bytes()


def test_leftovers_of_a_run_killed_at_its_end_are_removed(run: Run, tmp_path: Path) -> None:
    output, stranger = tmp_path / "aligned", tmp_path / "stranger"
    left = {}
    for folder in (output, stranger):
        folder.mkdir()
        left[folder] = [tmp_path / f"{folder.name}.{kind}" for kind in ("texts.json", "checkpoint")]
        for file in left[folder]:
            file.touch()
    (output / "training.json").touch()
    (tmp_path / ".aligned.lock").touch()
    for folder in (output, stranger):
        refused = run(*ALIGN, "--draft", "draft", "-o", str(folder))
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert f"{folder} is a folder" in refused.stderr
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"aligned", "stranger", "stranger.texts.json", "stranger.checkpoint"}


def test_a_batch_that_processes_cannot_share_equally_is_refused_before_a_model_is_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = SimpleNamespace(num_processes=2, process_index=0, is_main_process=True)
    monkeypatch.setattr("studies.bild.alignment.this_process", lambda: two)
    monkeypatch.setattr("studies.bild.alignment.load", lambda *_: pytest.fail("a model was read"))
    output = ("-o", str(tmp_path / "aligned"))
    refused = run(*ALIGN, "--draft", "draft", "--batch", "3", *output)
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert "a batch must have as many rows for each of 2 processes, got 3" in refused.stderr


def test_a_draft_that_is_larger_than_its_target_is_warned_of(
    run: Run, folders: Path, tmp_path: Path
) -> None:
    module = llama(seed=1, vocabulary=300, layers=1)
    module.save_pretrained(tmp_path / "shallow")
    AutoTokenizer.from_pretrained(folders / "target").save_pretrained(tmp_path / "shallow")
    arguments = [str(tmp_path / "shallow") if word == "target" else word for word in ALIGN]
    warned = run(*arguments, "--draft", "draft", "-o", str(tmp_path / "aligned"))
    assert warned.exit_code == 0, warned.output
    assert "Warning: the small model draft has" in warned.stderr
