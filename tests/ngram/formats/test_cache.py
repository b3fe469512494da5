"""The cached arrays of an ARPA file are used until the file changes."""

import dataclasses
import os
import time
from pathlib import Path

import numpy as np
import pytest
from corpora import random_texts, written

import ngram.formats.model_files
from ngram.formats.model_files import cache_path, content_hash, load_model, sealed
from ngram.rows.backoff import BackoffModel, Level


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


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:200] + bytes(50) + content[250:],
        lambda content: b"not a zip file",
    ],
    ids=["empty", "cut", "overwritten", "other"],
)
def test_damaged_arrays_are_made_anew(path: Path, damage: "object") -> None:
    assert callable(damage)
    first = load_model(path)
    cache_path(path).write_bytes(damage(cache_path(path).read_bytes()))
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


def test_another_programs_arrays_are_not_taken_for_a_model(path: Path) -> None:
    first = load_model(path)
    cache_path(path).write_bytes(sealed({"beta": np.ones(3)}))
    require_equal(load_model(path), first)


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
