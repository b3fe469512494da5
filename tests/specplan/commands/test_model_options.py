"""`--device-map`, `--dataset` and `--compile` of the model commands."""

import json
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch

from reference.models.compiled_model import CompiledModel
from tests.specplan.programs import Run, RunJson


def test_a_mapped_target_is_measured_as_it_is_on_one_device(
    run_json: RunJson, small: list[str]
) -> None:
    measure = ("measure", *small, "--max-gamma", "2", "--repeats", "1")
    plain = run_json(*measure)
    assert plain["setup"]["flags"] == []
    for device_map in ("auto", '{"": "cpu"}'):
        mapped = run_json(*measure, "--device-map", device_map)
        assert mapped["alpha"] == plain["alpha"]
        assert mapped["setup"]["flags"] == [f"--device-map {device_map}"]
        assert mapped["setup"]["device"] == "cpu"


def test_a_mapped_target_validates_and_generates(run_json: RunJson, small: list[str]) -> None:
    mapped = (*small, "--device-map", "auto", "--temperature", "0")
    rows = run_json("validate", *mapped, "--gamma", "2", "--repeats", "1")["rows"]
    assert [row["identical_to_target"] for row in rows] == [True]
    one = (*small[:6], "--temperature", "0")
    plain = run_json("generate", *one)
    assert run_json("generate", *one, "--device-map", "auto")["tokens"] == plain["tokens"]


ROWS = [
    {"question_id": 1, "category": "code", "turns": ["def f():", "shorter"]},
    {"question_id": 2, "category": "prose", "turns": ["a b"]},
    {"question_id": 3, "category": "code", "turns": ["class A:"]},
]
PAIR = ("--target", "target", "--draft", "draft", "--max-new-tokens", "6")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "bench"
    folder.mkdir()
    (folder / "question.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return str(folder)


def test_a_data_set_is_measured_by_category(run_json: RunJson, bench: str, tmp_path: Path) -> None:
    """As the same records in a file of prompts are."""
    measure = ("measure", *PAIR, "--max-gamma", "2", "--repeats", "1")
    profile = run_json(*measure, "--dataset", bench)
    assert {name: each["alpha"]["prompts"] for name, each in profile["by_category"].items()} == {
        "code": 2, "prose": 1
    }  # fmt: skip
    of_file = run_json(*measure, "--prompts", f"{bench}/question.jsonl")
    assert profile["setup"]["prompts_hash"] == of_file["setup"]["prompts_hash"]
    assert profile["alpha"] == of_file["alpha"]


def test_the_first_row_is_generated_from(run: Run, bench: str) -> None:
    made = run("generate", *PAIR, "--dataset", bench, "--dataset-split", "train")
    assert made.exit_code == 0, made.output
    assert made.stdout.startswith("def f():")


@pytest.mark.parametrize("command", ["measure", "validate", "generate"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--prompts", "prompts.txt"), "prompts and dataset cannot both be given"),
        (("--dataset-split", "dev"), "could not be loaded: Unknown split"),
        (("--dataset-config", "hard"), "could not be loaded: "),
    ],
    ids=str,
)
def test_options_that_contradict_a_data_set_are_refused_in_one_line(
    run: Run, bench: str, command: str, arguments: tuple[str, ...], message: str
) -> None:
    refused = run(command, *PAIR, "--dataset", bench, *arguments)
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert message in refused.stderr


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[int, ...]]]:
    """Returns what was compiled: names and widths."""
    found: list[tuple[str, tuple[int, ...]]] = []
    whole = CompiledModel.__init__

    def traced(self: CompiledModel, model: Any, **given: Any) -> None:
        found.append((model.name, tuple(given["widths"])))
        whole(self, model, **given, backend="eager")

    monkeypatch.setattr(CompiledModel, "__init__", traced)
    return found


@pytest.fixture
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda step, **_: step)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        def step(*_: Any) -> Any:
            raise RuntimeError("no compiler here")

        return step

    monkeypatch.setattr(torch, "compile", fail)


@pytest.mark.usefixtures("untraced")
def test_validate_runs_compiled_and_greedy_text_stays_the_targets(
    run_json: RunJson, small: list[str], made: list[tuple[str, tuple[int, ...]]]
) -> None:
    command = ["validate", *small, "--gamma", "2", "--repeats", "1", "--temperature", "0"]
    compiled = run_json(*command, "--compile")
    assert made == [("draft", (1, 2)), ("target", (1, 3))]
    plain = run_json(*command)
    assert len(made) == 2
    [row], [own] = compiled["rows"], plain["rows"]
    assert row["identical_to_target"]
    assert row["target_calls"] == own["target_calls"]
    assert row["tokens"] == own["tokens"]


@pytest.mark.usefixtures("untraced")
def test_measure_says_that_it_ran_compiled(
    run_json: RunJson, small: list[str], made: list[tuple[str, tuple[int, ...]]]
) -> None:
    command = ["measure", *small, "--max-gamma", "2", "--repeats", "1"]
    compiled, plain = run_json(*command, "--compile", "on"), run_json(*command)
    assert made == [("draft", (1, 2)), ("target", (1, 2, 3))]
    assert (compiled["setup"]["flags"], plain["setup"]["flags"]) == (["--compile on"], [])
    assert compiled["alpha"]["value"] == pytest.approx(plain["alpha"]["value"], abs=1e-4)


def test_generate_gives_the_same_text(
    run: Run, small: list[str], made: list[tuple[str, tuple[int, ...]]]
) -> None:
    pair = [*small[:2], "--draft", "lookup"]
    command = ["generate", *pair, "--gamma", "2", "--temperature", "0", "--prompt", "def f():"]
    assert run(*command, "--compile").stdout == run(*command).stdout
    assert made == [("target", (1, 3))]


@pytest.mark.usefixtures("broken")
def test_a_failed_compile_continues_only_with_try(run: Run, small: list[str]) -> None:
    command = ["measure", *small, "--max-gamma", "1", "--repeats", "1"]
    refused = run(*command, "--compile")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == (
        "Error: compiling draft failed: RuntimeError: no compiler here; --compile try goes on "
        "without\n"
    )
    tried = run(*command, "--compile", "try")
    assert tried.exit_code == 0, tried.output
    assert " ".join(tried.stderr.split()).count("it runs uncompiled") == 2
