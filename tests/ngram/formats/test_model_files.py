"""The cached arrays of an ARPA file are used until it changes; the embedded model is complete."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ngram.formats.model_files
import reference.models.embedded
from ngram.formats.model_files import (
    FOLDER,
    cache_path,
    content_hash,
    embedded_model,
    load_model,
    require_embedded_tokenizer,
    sealed,
)
from ngram.rows.backoff import BackoffModel, Level
from ngram.rows.rows import Rows, vocabulary_of
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_tokenizer
from tests.ngram.corpora import random_texts, tiny_tokenizer, written


def arrays(model: BackoffModel) -> list[np.ndarray]:
    names = [field.name for field in dataclasses.fields(Level)]
    return [model.number, *(getattr(level, name) for level in model.levels for name in names)]


def require_equal(one: BackoffModel, other: BackoffModel) -> None:
    for first, second in zip(arrays(one), arrays(other), strict=True):
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "model.arpa", random_texts(1), 3)


def test_kept_arrays_are_the_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_model(path)
    assert cache_path(path).name == "model.arpa.npz"
    assert cache_path(path).exists()
    monkeypatch.setattr(ngram.formats.model_files, "read_arpa", lambda _: pytest.fail("read again"))
    require_equal(load_model(path), first)


def test_a_changed_file_is_read_again(path: Path) -> None:
    load_model(path)
    stamp = time.time_ns()
    os.utime(path, ns=(stamp, stamp))
    written(path, random_texts(2), 3)
    # The same times and sizes would not hide the change: the key is the content.
    os.utime(path, ns=(stamp, stamp))
    changed = load_model(path)
    cache_path(path).unlink()
    require_equal(load_model(path), changed)


def test_damaged_and_foreign_arrays_are_made_again(path: Path) -> None:
    first = load_model(path)
    whole = cache_path(path).read_bytes()
    overwritten = whole[:200] + bytes(50) + whole[250:]
    other = sealed({"beta": np.ones(3)})
    for content in (b"", whole[: len(whole) // 2], overwritten, b"not a zip file", other):
        cache_path(path).write_bytes(content)
        require_equal(load_model(path), first)
        with np.load(cache_path(path), allow_pickle=False) as kept:
            assert "words_3" in kept.files


def test_a_byte_changed_or_an_end_cut_anywhere_is_noticed(path: Path) -> None:
    """Reading a damaged archive can raise nearly anything, and may show other numbers."""
    first = load_model(path)
    whole = cache_path(path).read_bytes()
    source = np.random.default_rng(0)
    for place in source.integers(0, len(whole), 150).tolist():
        flipped = whole[place] ^ int(source.integers(1, 256))
        for content in (whole[:place] + bytes([flipped]) + whole[place + 1 :], whole[:place]):
            cache_path(path).write_bytes(content)
            assert ngram.formats.model_files._read(cache_path(path), ngram_key(path)) is None
    require_equal(load_model(path), first)
    assert cache_path(path).read_bytes() == whole


def ngram_key(path: Path) -> str:
    return f"{ngram.formats.model_files.LAYOUT} {content_hash(path)}"


def test_pickled_objects_are_not_read(path: Path) -> None:
    load_model(path)
    with np.load(cache_path(path), allow_pickle=False) as kept:
        content = dict(kept)
    content["words_1"] = np.array([print], dtype=object)
    np.savez(cache_path(path), allow_pickle=True, **content)
    assert load_model(path).levels[0].words.dtype == np.int32


def test_a_folder_that_cannot_be_written_is_a_warning(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.warns(UserWarning, match="could not be kept for the next time: .*No space left"):
        load_model(path)
    assert os.listdir(path.parent) == ["model.arpa"]


def test_memory_is_the_arrays(path: Path) -> None:
    model = load_model(path)
    assert model.nbytes == sum(array.nbytes for array in arrays(model))


# The pair, the heads and the n-grams; the EAGLE-3 head has a limit of its own.
SHIPPED_BYTES, EAGLE3_BYTES = 16_000_000, 3_000_000


def test_the_embedded_model_agrees_with_its_note() -> None:
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
        row = np.exp(rows.log_row(rows.context(text[:end])))
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


INTERRUPTED = """
import signal
import zipfile
import numpy as np
from ngram.formats.model_files import sealed

opened = zipfile.ZipFile.open

def interrupted(*args, **kwargs):
    file = opened(*args, **kwargs)
    signal.raise_signal(signal.SIGINT)
    return file

signal.signal(signal.SIGINT, signal.default_int_handler)
zipfile.ZipFile.open = interrupted
try:
    sealed({"a": np.zeros(3)})
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_stays_one() -> None:
    """An archive that is closed in the midst of a file says so with an error of its own.

    A process of its own: libraries that other tests load may end theirs at a Ctrl-C.
    """
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.returncode) == ("interrupted\n", 0), ended.stderr
