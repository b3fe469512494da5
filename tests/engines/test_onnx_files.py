"""Configurations for ONNX Runtime GenAI, and the command that converts a model for it."""

import json
from pathlib import Path

import pytest

from engines.servers.onnx_files import CONFIGURATION, builder_command, built, write_pair

ENGINES = Path(__file__).parents[2] / "docs" / "engines.md"


@pytest.fixture
def pair(tmp_path: Path) -> dict[str, dict[str, object]]:
    """Returns the configurations that are written for a pair, by folder."""
    for name in ("big", "small"):
        (tmp_path / name).mkdir()
        decoder = {"filename": f"{name}.onnx", "num_hidden_layers": 2}
        model = {"decoder": decoder, "vocab_size": 300, "eos_token_id": 7, "pad_token_id": 0}
        (tmp_path / name / CONFIGURATION).write_text(json.dumps({"model": model, "search": {}}))
    folder = tmp_path / "out"
    folder.mkdir()
    big, small = (str(tmp_path / name) for name in ("big", "small"))
    assert write_pair(big, small, folder, threads=2) == 299
    return {
        name: json.loads((folder / name / CONFIGURATION).read_text())["model"]
        for name in ("target", "draft", "pair")
    } | {"folder": {"path": folder}}


def test_the_pair_is_the_targets_configuration_with_the_drafts_decoder(pair: dict) -> None:
    assert pair["pair"] == pair["target"] | {"draft": pair["draft"]["decoder"]}
    assert pair["pair"]["decoder"]["session_options"] == {"intra_op_num_threads": 2}


def test_paths_of_a_configuration_stay_in_its_folder_and_lead_to_the_models(pair: dict) -> None:
    for name in ("target", "draft", "pair"):
        for decoder in filter(None, (pair[name]["decoder"], pair[name].get("draft"))):
            assert ".." not in decoder["filename"]
            folder, file = decoder["filename"].split("/")
            models = (pair["folder"]["path"] / name / folder).resolve()
            assert (models / CONFIGURATION).is_file()
            assert file == f"{models.name}.onnx"


def test_texts_end_by_the_last_id_because_without_one_the_padding_ends_them(pair: dict) -> None:
    assert [pair[name]["eos_token_id"] for name in ("target", "draft", "pair")] == [[299]] * 3


def test_the_command_of_the_page_is_the_one_that_converts() -> None:
    assert builder_command("T", "T-onnx") in ENGINES.read_text(encoding="utf-8")


def test_a_folder_of_the_builder_is_not_converted(tmp_path: Path) -> None:
    (tmp_path / CONFIGURATION).write_text("{}")
    assert built(str(tmp_path), tmp_path / "new") == str(tmp_path)
