"""Prompts of data sets, on local copies in the formats that public ones have."""

import json
import socket
from pathlib import Path
from typing import Any

import datasets
import pytest
from huggingface_hub import constants

from estimator.prompts.files import Prompt
from estimator.prompts.prompts import read_dataset
from estimator.settings import PromptSettings

# Spec-Bench's question.jsonl: MT-bench's questions with their references, and single turns.
SPEC_BENCH = [
    {"question_id": 81, "category": "writing", "turns": ["Compose a post.", "Now in French."]},
    {"question_id": 111, "category": "math", "turns": ["What is 2 + 2?", "And 3?"],
     "reference": ["4", "5"]},
    {"question_id": 321, "category": "translation", "turns": ["Guten Tag"]},
]  # fmt: skip
# HuggingFaceH4/mt_bench_prompts has the turns under `prompt`, and empty references.
MT_BENCH = [
    {"prompt": ["Compose a post.", "Now in French."], "prompt_id": 1, "category": "writing",
     "reference": []},
    {"prompt": ["What is 2 + 2?", "And 3?"], "prompt_id": 2, "category": "math",
     "reference": ["4", "5"]},
]  # fmt: skip


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))


def written(folder: Path, name: str, records: list[dict[str, Any]]) -> str:
    """Returns a folder in which a file of records lies, in the format that its name says."""
    folder.mkdir(exist_ok=True)
    if name.endswith(".parquet"):
        datasets.Dataset.from_list(records).to_parquet(folder / name)
    else:
        (folder / name).write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return str(folder)


def prompts(
    name: str, *, split: str | None = None, configuration: str | None = None, count: int = 99
) -> list[Prompt]:
    wanted = PromptSettings(dataset_config=configuration, dataset_split=split, num_prompts=count)
    return read_dataset(name, wanted)


@pytest.mark.parametrize(
    ("name", "records", "expected"),
    [
        ("question.jsonl", SPEC_BENCH,
         [Prompt("Compose a post.", "writing"), Prompt("What is 2 + 2?", "math", "4"),
          Prompt("Guten Tag", "translation")]),
        ("train-00000-of-00001.parquet", MT_BENCH,
         [Prompt("Compose a post.", "writing"), Prompt("What is 2 + 2?", "math", "4")]),
        ("a.parquet", [{"text": "one", "id": 1}, {"text": "two"}], [Prompt("one"), Prompt("two")]),
        ("a.parquet", [{"prompt": "one", "id": 1}, {"prompt": "two"}],
         [Prompt("one"), Prompt("two")]),
    ],
)  # fmt: skip
def test_the_shapes_of_public_data_sets_are_understood(
    tmp_path: Path, name: str, records: list[dict[str, Any]], expected: list[Prompt]
) -> None:
    folder = written(tmp_path / "set", name, records)
    assert prompts(folder) == expected
    assert prompts(folder, count=1) == expected[:1]


def test_a_split_is_chosen_where_there_are_several(tmp_path: Path) -> None:
    name = written(tmp_path / "split", "train.jsonl", [{"text": "seen"}])
    written(tmp_path / "split", "test.jsonl", [{"text": "new"}])
    assert prompts(name, split="test") == [Prompt("new")]
    with pytest.raises(ValueError, match=r"dataset-split must be one of train, test of .*got none"):
        prompts(name)
    with pytest.raises(ValueError, match=r"could not be loaded: Unknown split \"dev\""):
        prompts(name, split="dev")


def test_a_configuration_is_chosen(tmp_path: Path) -> None:
    name = written(tmp_path / "several", "a.jsonl", [{"text": "of a"}])
    written(tmp_path / "several", "b.jsonl", [{"text": "of b"}])
    (tmp_path / "several" / "README.md").write_text(
        "---\nconfigs:\n- config_name: a\n  data_files: a.jsonl\n"
        "- config_name: b\n  data_files: b.jsonl\n---\n"
    )
    assert prompts(name, configuration="b") == [Prompt("of b")]
    with pytest.raises(ValueError, match="Config name is missing"):
        prompts(name)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"question": "x"}], r"row 1 must have a field prompt, text, turns, .*, got none of them"),
        ([{"text": "x"}, {"text": " "}], "must not be empty, got an empty one: .* row 2"),
        ([{"turns": []}], "row 1: field turns must be text, got list"),
        ([{"text": "x", "category": 3}], "row 1: field category must be text, got int"),
    ],
)
def test_rows_that_are_no_prompts_are_refused(
    tmp_path: Path, records: list[dict[str, Any]], message: str
) -> None:
    name = written(tmp_path / "odd", "a.jsonl", records)
    with pytest.raises(ValueError, match=message):
        prompts(name)


def test_a_data_set_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"dataset '.*nowhere' could not be loaded: .* no such fo"):
        prompts(str(tmp_path / "nowhere"))
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match=r"dataset '.*none' could not be loaded: "):
        prompts(str(tmp_path / "none"))


def test_an_unreachable_name_of_the_hub_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Unless a copy is kept, which the package then looks for by itself."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("reference.models.hub.getproxies", dict)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
    message = "dataset 'some/set' could not be loaded: there is no such folder, and .* cannot be re"
    with pytest.raises(ValueError, match=message):
        prompts("some/set")
    (tmp_path / "cache" / "some___set").mkdir(parents=True)
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: [{"text": "kept"}])
    assert prompts("some/set", split="train") == [Prompt("kept")]
