"""The embedded trigram: its description, its tokenizer, and that its rows are distributions."""

import json
from pathlib import Path

import numpy as np
import pytest
from corpora import tiny_tokenizer

import ngram.formats.model_files
import reference.models.embedded
from ngram.formats.model_files import FOLDER, embedded_model, require_embedded_tokenizer
from ngram.rows.rows import Rows
from ngram.rows.words import vocabulary_of
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_tokenizer

# The pair, the heads and the n-grams; the EAGLE-3 head has a limit of its own.
SHIPPED_BYTES, EAGLE3_BYTES = 16_000_000, 3_000_000


def test_it_is_what_its_note_says() -> None:
    note = json.loads((FOLDER / "training.json").read_text())
    model = embedded_model()
    assert model.order == note["order"] == 3
    assert [len(level.words) for level in model.levels] == note["ngrams"]
    assert (FOLDER / "trigram.npz").stat().st_size == note["bytes"]


def test_it_is_of_the_embedded_tokenizer() -> None:
    require_embedded_tokenizer(load_tokenizer(str(weights_folder("target"))), name="embedded")


def test_another_targets_tokenizer_is_refused() -> None:
    with pytest.raises(
        ValueError, match="draft ngram is of the embedded tokenizer, got target big with another"
    ):
        require_embedded_tokenizer(tiny_tokenizer(), name="big")


def test_its_rows_are_laws_of_python() -> None:
    tokenizer = load_tokenizer(str(weights_folder("target")))
    rows = Rows(embedded_model(), vocabulary_of(tokenizer))
    ids = tokenizer("class Reader:\n    def __init__(self, path):\n        self.path = path\n")
    text = ids["input_ids"]
    for end in range(len(text)):
        row = rows.row(rows.context(text[:end]))
        assert row.shape == (len(tokenizer),)
        assert row.sum(dtype=np.float64) == pytest.approx(1, abs=1e-6)
    guessed = [int(rows.log_row(rows.context(text[:end])).argmax()) for end in range(1, len(text))]
    right = sum(guess == token for guess, token in zip(guessed, text[1:], strict=True))
    assert right >= len(guessed) // 4


def test_all_that_is_shipped_stays_within_its_limit() -> None:
    folders = [
        Path(module.__file__).parents[1] / "weights"
        for module in (ngram.formats.model_files, reference.models.embedded)
        if module.__file__ is not None
    ]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    of_head = {file for file in files if file.parent.name == "eagle3"}
    assert 0 < sum(file.stat().st_size for file in of_head) <= EAGLE3_BYTES
    assert sum(file.stat().st_size for file in set(files) - of_head) <= SHIPPED_BYTES
