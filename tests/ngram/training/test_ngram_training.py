"""Training writes a model and what it was made of, and a target's tokenizer is held to it."""

import dataclasses
import os
import shutil
import stat
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

import ngram.training.train
from ngram.formats.model_files import (
    description_path,
    fingerprint,
    read_description,
    require_tokenizer,
)
from ngram.training.corpus import Corpus
from ngram.training.train import find_lmplz, run_lmplz, train
from tests.ngram.corpora import (
    file_entries,
    random_texts,
    sentences,
    tiny_tokenizer,
    trained_model,
    written,
)

TEXTS = random_texts(1, words=8)
LMPLZ = shutil.which("lmplz")


def trained_file(path: Path, **settings: Any) -> Path:
    options = {"order": 3, "tokenizer": tiny_tokenizer(), "tokenizer_name": "tiny"} | settings
    train(Corpus(sentences(TEXTS), 0), path, **options)
    return path


def test_the_model_and_its_description_are_written(tmp_path: Path) -> None:
    path = trained_file(tmp_path / "model.arpa", prune=(0, 1))
    assert sorted(os.listdir(tmp_path)) == ["model.arpa", "model.arpa.json"]
    expected = written(tmp_path / "expected.arpa", TEXTS, 3, (0, 1))
    assert path.read_bytes() == expected.read_bytes()
    description = read_description(path)
    assert description is not None
    assert description.fingerprint == fingerprint(tiny_tokenizer())
    assert (description.order, description.prune) == (3, (0, 1, 1))
    assert description.estimator == "own"
    assert description.texts == len(TEXTS)
    assert description.tokens == sum(map(len, TEXTS))
    levels = trained_model(TEXTS, 3, (0, 1)).levels
    assert description.ngrams == tuple(len(level.words) for level in levels)


def test_fallback_discounts_are_reported(tmp_path: Path) -> None:
    given = {"tokenizer": tiny_tokenizer(), "tokenizer_name": "tiny"}
    description = train(Corpus(sentences([[1, 2]]), 0), tmp_path / "a.arpa", order=2, **given)
    assert description.fallback_orders == (1, 2)


@pytest.mark.skipif(LMPLZ is None, reason="KenLM's lmplz is not on PATH")
def test_lmplz_trains_the_same(tmp_path: Path) -> None:
    ours = trained_file(tmp_path / "own.arpa", prune=(0, 1))
    theirs = trained_file(tmp_path / "lmplz.arpa", prune=(0, 1), lmplz=LMPLZ)
    one, other = read_description(ours), read_description(theirs)
    assert one is not None
    assert other is not None
    assert other.estimator == "lmplz"
    assert dataclasses.replace(other, arpa=one.arpa, estimator="own") == one
    expected = file_entries(ours)
    for words, values in file_entries(theirs).items():
        assert values == pytest.approx(expected[words], abs=1e-4)


@pytest.mark.parametrize("order", [0, 7])
def test_orders_out_of_range_are_refused(order: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"order must lie in \[1, 6\], got {order}"):
        trained_file(tmp_path / "model.arpa", order=order)
    assert os.listdir(tmp_path) == []


def test_a_failure_leaves_the_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trained_file(tmp_path / "model.arpa")
    before = path.read_bytes(), description_path(path).read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        trained_file(path, order=2)
    assert (path.read_bytes(), description_path(path).read_bytes()) == before
    assert sorted(os.listdir(tmp_path)) == ["model.arpa", "model.arpa.json"]


def program(path: Path, script: str) -> str:
    """Returns a program that stands for lmplz."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_an_lmplz_that_fails_is_a_failure(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "model.arpa").write_text("old")
    failing = program(tmp_path / "lmplz", "echo first >&2; echo no memory >&2; exit 3")
    with pytest.raises(RuntimeError, match="lmplz failed with status 3: no memory"):
        run_lmplz(failing, sentences(TEXTS), folder / "model.arpa", order=2, prune=(0, 0))
    assert os.listdir(folder) == ["model.arpa"]
    assert (folder / "model.arpa").read_text() == "old"


def test_lmplz_gets_a_line_for_each_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngram.training.train.TOKENS_AT_ONCE", 3)
    copying = program(tmp_path / "lmplz", 'while [ "$1" != --arpa ]; do shift; done; cat > "$2"')
    run_lmplz(copying, sentences([[1, 20], [3]]), tmp_path / "out", order=2, prune=(0, 0))
    lines = [line.split() for line in (tmp_path / "out").read_text().splitlines() if line.strip()]
    assert lines == [["1", "20"], ["3"]]


def test_lmplz_does_not_prune_the_end_of_text(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be below the number of texts, 2, got 2"):
        run_lmplz("lmplz", sentences([[1], [2]]), tmp_path / "a", order=2, prune=(2, 2))


def test_lmplz_is_found_as_given_or_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_lmplz() is None
    name = program(tmp_path / "lmplz", "true")
    assert find_lmplz() == name
    assert find_lmplz(name) == name
    with pytest.raises(ValueError, match="lmplz must be a program that can be run, got missing"):
        find_lmplz("missing")


def test_the_tokenizer_of_a_target_must_be_the_models_own(tmp_path: Path) -> None:
    path = trained_file(tmp_path / "a.arpa")
    require_tokenizer(path, tiny_tokenizer(), name="target")
    message = r"must be of the tokenizer of target, got one trained with tiny; `force"
    with pytest.raises(ValueError, match=message):
        require_tokenizer(path, tiny_tokenizer(begin="<begin>"), name="target")
    written(path, TEXTS, 2)
    with pytest.raises(ValueError, match=r"must be the file that a.arpa.json describes, got ano"):
        require_tokenizer(path, tiny_tokenizer(), name="target")
    description_path(path).unlink()
    with pytest.raises(ValueError, match=r"fingerprint in a.arpa.json, got none"):
        require_tokenizer(path, tiny_tokenizer(), name="target")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "other"}'])
def test_a_damaged_description_is_refused(content: str, tmp_path: Path) -> None:
    path = trained_file(tmp_path / "a.arpa")
    description_path(path).write_text(content)
    with pytest.raises(ValueError, match=r"a.arpa.json must describe an n-gram model"):
        read_description(path)


def test_fingerprints_tell_tokenizers_apart() -> None:
    prints = [
        fingerprint(tokenizer)
        for tokenizer in (tiny_tokenizer(), tiny_tokenizer(end="in"), tiny_tokenizer(begin="<b>"))
    ]
    assert len(set(prints)) == 3
    assert fingerprint(tiny_tokenizer()) == prints[0]


def test_progress_counts_each_order_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = MagicMock()
    monkeypatch.setattr(ngram.training.train, "tqdm", counted)
    trained_file(tmp_path / "a.arpa", order=4)
    assert counted.return_value.__enter__.return_value.update.call_count == 8
