"""Corpora: which files, texts and ids; their counts equal counts by hand."""

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

import ngram.training.corpus
from ngram.rows.backoff import BEGIN, END, UNKNOWN
from ngram.training.corpus import corpus_files, encode_texts, read_texts
from ngram.training.counts import CorpusCounts, count_ngrams
from tests.ngram.corpora import WORDS, golden_texts, random_texts, sentences, tiny_tokenizer


def texts_of(*paths: Path) -> list[str]:
    return [text for text, _ in read_texts(paths)]


def encoded(texts: list[str], **special: str) -> list[int]:
    corpus = encode_texts([(text, 0) for text in texts], tiny_tokenizer(**special))
    return corpus.sentences.tolist()


def test_folders_give_files_with_known_suffixes(tmp_path: Path) -> None:
    for name in ("b.txt", "a.py", "c.md", "sub/d.jsonl", "sub/e.txt.gz", "f.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [path.relative_to(tmp_path).as_posix() for path in corpus_files([str(tmp_path)])]
    assert found == ["a.py", "b.txt", "sub/d.jsonl", "sub/e.txt.gz"]
    found = [path.name for path in corpus_files([str(tmp_path)], "**/*.md")]
    assert found == ["c.md"]


def test_a_file_is_taken_whatever_its_suffix(tmp_path: Path) -> None:
    path = tmp_path / "c.md"
    path.touch()
    assert corpus_files([str(path), str(path)]) == [path, path]


def test_sources_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="corpus must be an existing file or folder, got missing"):
        corpus_files(["missing"])
    with pytest.raises(ValueError, match=r"at least one file named .txt .*, got none"):
        corpus_files([str(tmp_path)])
    with pytest.raises(ValueError, match=r"at least one file named \*\.x, got none"):
        corpus_files([str(tmp_path)], "*.x")


def test_a_file_is_a_text_and_a_json_line_is_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    lines = [{"text": "three"}, {"prompt": "four"}, {"turns": ["five", "six"]}]
    (tmp_path / "b.jsonl").write_text("\n\n".join(map(json.dumps, lines)))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(b'{"text": "seven"}\n'))
    (tmp_path / "d.py.gz").write_bytes(gzip.compress(b"eight"))
    assert texts_of(*sorted(tmp_path.iterdir())) == [
        "one\ntwo\n", "three", "four", "five\nsix", "seven", "eight",
    ]  # fmt: skip


def test_unreadable_bytes_are_replaced_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("def \N{REPLACEMENT CHARACTER} ".encode() + b"\xff x \xfe\xfe")
    corpus = encode_texts(read_texts([path]), tiny_tokenizer())
    assert corpus.replaced == 3


def test_halves_of_surrogate_pairs_are_replaced_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(r'{"text": "one \ud83d two \ud83d\ude00 \ude00"}')
    (text,) = read_texts([path])
    assert text == ("one \ufffd two \N{GRINNING FACE} \ufffd", 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "line 1 must be JSON, got"),
        ('{"text": "x"}\n{"body": 1}', "line 2 must have a field text, prompt, turns, got none"),
        ('{"text": 3}', "line 1: field text must be text, got int"),
        ('"text"', "line 1 must have a field"),
    ],
)
def test_bad_json_lines_are_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        texts_of(path)


@pytest.mark.parametrize(
    "content", [b"plain", gzip.compress(b"whole")[:-6]], ids=["plain", "cut short"]
)
def test_bad_gzip_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a.txt.gz must be whole gzip, got"):
        texts_of(path)


def test_texts_become_sentences_of_ids() -> None:
    x, y = WORDS.index("x"), WORDS.index("y")
    assert encoded(["x y", "", "y"]) == [x, y, END, y, END]


def test_an_end_of_text_within_a_text_divides_it() -> None:
    x, y = WORDS.index("x"), WORDS.index("y")
    assert encoded(["<end> x <end> <end> y", "<end>", "x <end>"]) == [x, END, y, END, x, END]
    assert encoded(["<begin> x <begin> y"], begin="<begin>") == [x, END, y, END]


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [" ".join(WORDS[: 1 + number % 7]) for number in range(30)]
    whole = encoded(texts)
    monkeypatch.setattr(ngram.training.corpus, "CHARACTERS_AT_ONCE", 20)
    assert encoded(texts) == whole


def test_a_corpus_counts_its_texts_and_tokens() -> None:
    corpus = encode_texts([("x y", 0), ("y", 2)], tiny_tokenizer())
    assert (corpus.texts, corpus.tokens, corpus.replaced) == (2, 3, 2)


def test_an_empty_corpus_and_a_tokenizer_without_end_of_text_are_refused() -> None:
    for texts in ([], [""], ["<end>"]):
        with pytest.raises(ValueError, match="a corpus must have at least one token, got none"):
            encoded(texts)
    with pytest.raises(ValueError, match=r"an end-of-text token \(eos_token\), got none"):
        encode_texts([("x", 0)], tiny_tokenizer(end=None))
    with pytest.raises(ValueError, match="a corpus must have at least one text, got none"):
        count_ngrams(np.empty(0, np.int32), 2)


TEXTS = {
    "random": random_texts(1),
    "short texts": [[1], [2], [1, 2], [1], [3, 3, 3, 3]],
    "one word": [[7]],
    "golden": golden_texts(),
}


def counted_by_hand(texts: list[list[int]], order: int) -> dict[tuple[int, ...], int]:
    counts: Counter[tuple[int, ...]] = Counter()
    for text in texts:
        words = [BEGIN, *text, END]
        counts.update(
            tuple(words[start : start + order]) for start in range(len(words) - order + 1)
        )
    return dict(counts)


def named(counts: CorpusCounts, order: int) -> list[tuple[int, ...]]:
    """Returns the words of each n-gram of an order."""
    vocabulary, tables = counts
    table = tables[order - 1]
    last = vocabulary[table.word].tolist()
    if order == 1:
        return [(word,) for word in last]
    contexts = named(counts, order - 1)
    return [(*contexts[context], word) for context, word in zip(table.context, last, strict=True)]


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
def test_raw_counts_are_occurrences(texts: list[list[int]], order: int) -> None:
    counts = count_ngrams(sentences(texts), order)
    for n in range(2, order + 1):
        raw = dict(zip(named(counts, n), counts[1][n - 1].raw.tolist(), strict=True))
        assert raw == counted_by_hand(texts, n)
    unigrams = dict(zip(named(counts, 1), counts[1][0].raw.tolist(), strict=True))
    assert unigrams == counted_by_hand(texts, 1) | {(BEGIN,): 0, (UNKNOWN,): 0}


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_adjusted_counts_are_distinct_words_before(texts: list[list[int]]) -> None:
    order = 4
    counts = count_ngrams(sentences(texts), order)
    for n in range(1, order):
        before = defaultdict(set)
        for words in counted_by_hand(texts, n + 1):
            before[words[1:]].add(words[0])
        occurrences = counted_by_hand(texts, n)
        for words, adjusted in zip(
            named(counts, n), counts[1][n - 1].adjusted.tolist(), strict=True
        ):
            if words[0] == BEGIN and n > 1:
                assert adjusted == occurrences[words]
            else:
                assert adjusted == len(before[words])
    highest = counts[1][-1]
    np.testing.assert_array_equal(highest.adjusted, highest.raw)


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_ngrams_are_sorted_and_their_suffixes_found(texts: list[list[int]]) -> None:
    counts = count_ngrams(sentences(texts), 4)
    for n in range(2, 5):
        words = named(counts, n)
        assert words == sorted(words)
        shorter = named(counts, n - 1)
        assert [shorter[place] for place in counts[1][n - 1].suffix] == [
            words[1:] for words in words
        ]


def test_the_last_ngram_of_each_lower_order_is_tallied_raw() -> None:
    # Word 9 appears last of all words, twice, and both times after 4 5.
    counts = count_ngrams(sentences([[4, 5], [4, 5, 9], [4, 5, 9]]), 3)
    changed = [
        words
        for n in (1, 2)
        for words, tallied, adjusted in zip(
            named(counts, n),
            counts[1][n - 1].tallied.tolist(),
            counts[1][n - 1].adjusted.tolist(),
            strict=True,
        )
        if tallied != adjusted
    ]
    assert changed == [(9,), (5, 9)]


def test_each_order_is_a_step() -> None:
    steps: list[int] = []
    count_ngrams(sentences([[1, 2]]), 5, lambda: steps.append(1))
    assert len(steps) == 5
