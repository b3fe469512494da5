"""`--dataset`: rows of a local data set as prompts of the model commands."""

import json
from pathlib import Path

import datasets
import pytest
from programs import Run, RunJson

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
def test_what_a_data_set_does_not_go_with_is_one_line(
    run: Run, bench: str, command: str, arguments: tuple[str, ...], message: str
) -> None:
    refused = run(command, *PAIR, "--dataset", bench, *arguments)
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert message in refused.stderr
