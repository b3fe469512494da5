"""Folders in OpenVINO's format: which models are converted, and which are refused."""

from pathlib import Path

import gguf
import pytest

from engines.servers.gguf_files import write_gguf
from engines.servers.openvino_files import MODEL, converted
from tests.engines.engine_pairs import DRAFT, TARGET


def test_a_folder_in_openvinos_format_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / MODEL).write_text("<net/>")
    assert converted(tmp_path, tmp_path, tmp_path / "new") == tmp_path
    assert not (tmp_path / "new").exists()


def test_other_models_are_refused_with_the_command_that_exports_them(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["GPT2LMHeadModel"]}')
    (tmp_path / "tokenizer.json").write_text("{}")
    message = f"a model must be a folder with {MODEL}, as `optimum-cli export openvino` writes, .*"
    with pytest.raises(ValueError, match=message + r"got .*: .* got \['GPT2LMHeadModel'\]"):
        converted(tmp_path, tmp_path, tmp_path / "new")


def test_matrices_of_a_gguf_file_are_written_in_half_precision(tmp_path: Path) -> None:
    write_gguf(Path(DRAFT), Path(TARGET), tmp_path / "x.gguf", half=True)
    kinds = {
        tensor.tensor_type.name: len(tensor.shape)
        for tensor in gguf.GGUFReader(tmp_path / "x.gguf").tensors
    }
    assert kinds == {"F16": 2, "F32": 1}
