"""A folder without a model is refused, with the file that it lacks."""

import re
from pathlib import Path

import pytest
import torch

from reference.models.hub import ADVICE, unloadable
from reference.models.huggingface import load_model, load_tokenizer

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([], f"the folder has no config.json and no tokenizer.json; {ADVICE}"),
        (["config.json"], f"the folder has no tokenizer.json; {ADVICE}"),
    ],
)
def test_a_folder_without_a_tokenizer_says_what_it_lacks(
    files: list[str], reason: str, tmp_path: Path
) -> None:
    for name in files:
        (tmp_path / name).write_text('{"model_type": "llama"}')
    message = f"tokenizer {str(tmp_path)!r} could not be loaded: {reason}"
    with pytest.raises(ValueError, match=re.escape(message) + "$"):
        load_tokenizer(str(tmp_path))


def test_a_folder_without_a_configuration_says_so(tmp_path: Path) -> None:
    message = f"model {str(tmp_path)!r} could not be loaded: the folder has no config.json; "
    with pytest.raises(ValueError, match=re.escape(message + ADVICE) + "$"):
        load_model(str(tmp_path), device=CPU)


def test_a_file_and_a_path_to_nothing_are_said_to_be_that(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("no model")
    for path, reason in ((note, "it is a file"), (tmp_path / "none", "there is no such folder")):
        with pytest.raises(ValueError, match=f"could not be loaded: {reason}; "):
            load_tokenizer(str(path))
        with pytest.raises(ValueError, match=f"could not be loaded: {reason}; "):
            load_model(str(path), device=CPU)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"model_type": "llama", "vocab_size": "x"}', "StrictDataclassFieldValidationError: "),
        ("[1]", "Unrecognized model in "),
        ('{"model_type": "no-such-model"}', "The checkpoint you are trying to load"),
        ("{", "It looks like the config file"),
    ],
)
def test_a_damaged_configuration_is_bad_input(content: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ValueError, match=f"could not be loaded: {reason}"):
        load_model(str(tmp_path), device=CPU)


def test_a_message_that_goes_on_after_a_colon_is_not_cut_there() -> None:
    error = unloadable("model", "org/name", OSError("one of:\n (1) this\n (2) that"))
    assert str(error) == "model 'org/name' could not be loaded: one of: (1) this (2) that"
    error = unloadable("model", "org/name", OSError("not there.\nHave you thought of"))
    assert str(error) == "model 'org/name' could not be loaded: not there."
