"""ARPA files: written models are read back, and a bad file is refused with line and reason."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ngram.formats.arpa
from ngram.formats.arpa import read_arpa, read_counts, write_arpa
from ngram.rows.backoff import MAX_ORDER, build
from tests.ngram.corpora import GOLDEN, entries, file_entries, random_texts, trained, written

GOOD = r"""\data\
ngram 1=5
ngram 2=3

\1-grams:
-2	<unk>	0
0	<s>	-0.5
-1	</s>	0
-0.5	0	-0.25
-0.7	12	-0.1

\2-grams:
-0.3	<s> 0
-0.2	0 12
-0.1	12 </s>

\end\
"""


def read(path: Path) -> None:
    """Reads a file through and builds the model."""
    build(read_arpa(path), source=str(path))


@pytest.mark.parametrize("order", range(1, MAX_ORDER + 1))
def test_written_files_are_read_unchanged(order: int, tmp_path: Path) -> None:
    grams = trained(random_texts(1), order)
    path = tmp_path / "model.arpa"
    write_arpa(path, grams)
    read_back = file_entries(path)
    expected = entries(grams)
    assert read_back.keys() == expected.keys()
    for words, values in expected.items():
        assert read_back[words] == pytest.approx(values, rel=5e-8)
    assert read_counts(path) == [len(of_order) for of_order in grams]


@pytest.mark.parametrize("name", ["order1", "order3", "order3_pruned"])
def test_a_line_of_another_style_changes_no_other_line(name: str, tmp_path: Path) -> None:
    text = (GOLDEN / f"{name}.arpa").read_text()
    path = tmp_path / "other.arpa"
    path.write_text(text.replace("\t", "  ", 1))
    assert file_entries(path) == file_entries(GOLDEN / f"{name}.arpa")


@pytest.mark.parametrize("lines", [1, 7, 50])
def test_pieces_of_any_size_give_the_same(lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = file_entries(GOLDEN / "order3_pruned.arpa")
    monkeypatch.setattr(ngram.formats.arpa, "LINES_AT_ONCE", lines)
    assert file_entries(GOLDEN / "order3_pruned.arpa") == expected


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\t", " "),
        lambda text: "# a comment\n\n" + text,
        lambda text: text + "\n\n",
        lambda text: text.replace("ngram 1=5", "ngram 1 = 5"),
        lambda text: text.replace("\\2-grams", "\n\n\\2-grams"),
        lambda text: text.replace("12 </s>", "12 </s>\t0"),
    ],
    ids=["CRLF", "spaces", "comment", "blank end", "counts", "blank lines", "zero weight"],
)
def test_other_programs_spellings_are_read(change: "object", tmp_path: Path) -> None:
    assert callable(change)
    plain, other = tmp_path / "plain.arpa", tmp_path / "other.arpa"
    plain.write_text(GOOD)
    other.write_bytes(change(GOOD).encode())
    assert file_entries(other) == file_entries(plain)


BAD = [
    # (replaced, by, line, reason)
    ("\\data\\", "\\date\\", 1, r"an ARPA file must begin with \\data\\, got '\\\\date\\\\'"),
    ("ngram 1=5", "ngram 1:5", 2, "the header must say ngram 1=COUNT, got 'ngram 1:5'"),
    ("ngram 2=3", "ngram 3=3", 3, "the header must say ngram 2=COUNT, got 'ngram 3=3'"),
    ("ngram 1=5\nngram 2=3\n", "", 2, "a model must have 1 to 6 orders, got 0"),
    ("ngram 1=5", "ngram 1=6", 11, "1 more 1-grams should be here by the header's count, got a b"),
    ("ngram 2=3", "ngram 2=2", 15, "the header says 2 2-grams, and a blank line should follow"),
    ("ngram 2=3", "ngram 2=5", 16, "2 more 2-grams should be here by the header's count"),
    ("ngram 2=3", "ngram 2=99999999", 12, "99999999 2-grams of the header are more than the file"),
    ("\\2-grams:", "\\3-grams:", 12, r"\\2-grams: should be here, got '\\\\3-grams:'"),
    ("\\2-grams:", "\\stuff:", 12, r"\\2-grams: should be here, got '\\\\stuff:'"),
    ("\\end\\\n", "", 17, r"the file ends where \\end\\ should be"),
    ("\\end\\", "\\end", 17, r"\\end\\ should be here, got '\\\\end'"),
    ("\\end\\", "\\end\\\nmore", 18, r"nothing may follow \\end\\, got 'more'"),
    ("-0.7\t12", "nan\t12", 10, "a log10 probability must be a finite number, got nan"),
    ("-0.7\t12", "-inf\t12", 10, "a log10 probability must be a finite number, got -inf"),
    ("-0.7\t12", "-0.7x\t12", 10, "a log10 probability must be a finite number, got -0.7x"),
    ("-0.7\t12", "0.7\t12", 10, "a log10 probability must be at most 0, got 0.7"),
    ("-0.25", "NaN", 9, "a back-off weight must be a finite number, got NaN"),
    ("12 </s>", "12 </s>\t-1", 15, "the highest order has no back-off weights, got -1"),
    ("-0.2\t0 12", "-0.2\t0", 14, "a line of 2-grams must have a log probability, 2 words and"),
    ("-0.2\t0 12", "-0.2\t0 12 12\t0", 14, "a line of 2-grams must have .* got 5 fields"),
    ("-0.7\t12", "-0.7\tword", 10, "a word must be a token id, <unk>, <s> or </s>, got word"),
    ("-0.7\t12", "-0.7\t-3", 10, "a word must be a token id, <unk>, <s> or </s>, got -3"),
    ("-0.7\t12", "-0.7\t012", 10, "a word must be a token id, <unk>, <s> or </s>, got 012"),
    ("-0.7\t12", "-0.7\t1.5", 10, "a word must be a token id, <unk>, <s> or </s>, got 1.5"),
    ("-0.7\t12", "-0.7\t2147483647", 10, "a word must be a token id, .* got 2147483647"),
    ("-0.7\t12", "-0.7\t99999999999999999999", 10, "a word must be a token id"),
    ("-0.7\t12", "-0.7\t0", 10, "the n-gram 0: it is listed a second time"),
    ("-0.2\t0 12", "-0.2\t<s> 0", 14, "the n-gram <s> 0: it is listed a second time"),
    ("-0.2\t0 12", "-0.2\t3 12", 14, "the n-gram 3 12: its words but the last are not listed"),
    ("-0.2\t0 12", "-0.2\t0 3", 14, "the n-gram 0 3: its last word is not among the unigrams"),
    # Ids beyond the unigrams: the first three are where <unk>, <s> and </s> are kept.
    *(
        ("-0.2\t0 12", f"-0.2\t0 {word}", 14, f"the n-gram 0 {word}: its last word is not among")
        for word in (13, 14, 15, 16, 10**6)
    ),
    *(
        ("-0.2\t0 12", f"-0.2\t{word} 12", 14, f"the n-gram {word} 12: its words but the last are")
        for word in (13, 14, 15, 16, 10**6)
    ),
    ("-0.2\t0 12", "-0.2\t0 <unk>", 14, "<unk> may only be a unigram"),
    ("-0.2\t0 12", "-0.2\t0 <s>", 14, "<s> may only come first"),
    ("-0.2\t0 12", "-0.2\t</s> 12", 14, "</s> may only come last"),
]


@pytest.mark.parametrize(("old", "new", "line", "reason"), BAD)
def test_a_bad_file_is_refused_by_line(
    old: str, new: str, line: int, reason: str, tmp_path: Path
) -> None:
    assert old in GOOD
    path = tmp_path / "bad.arpa"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ValueError, match=f"bad.arpa:{line}: {reason}"):
        read(path)


@pytest.mark.parametrize("word", [1, 13, 14, 15, 16])
def test_an_unknown_word_amid_an_ngram_is_refused(word: int, tmp_path: Path) -> None:
    path = tmp_path / "bad.arpa"
    higher = GOOD.replace("ngram 2=3\n", "ngram 2=3\nngram 3=1\n").replace(
        "\\end\\", f"\\3-grams:\n-0.3\t<s> {word} 12\n\n\\end\\"
    )
    path.write_text(higher)
    with pytest.raises(ValueError, match=f"the n-gram <s> {word} 12: its words but the last"):
        read(path)


@pytest.mark.parametrize("kept", range(len(GOOD.splitlines())))
def test_a_truncated_file_is_refused(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "bad.arpa"
    path.write_text("".join(GOOD.splitlines(keepends=True)[:kept]))
    with pytest.raises(ValueError, match=rf"bad.arpa:{kept + 1}: the file ends where .* should be"):
        read(path)


@pytest.mark.parametrize("cut", [3, 8, 20])
def test_a_file_truncated_within_a_line_is_refused(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "bad.arpa"
    path.write_text(GOOD[:-cut])
    with pytest.raises(ValueError, match=r"bad\.arpa:1[5-7]: "):
        read(path)


def test_special_words_are_required(tmp_path: Path) -> None:
    path = tmp_path / "bad.arpa"
    path.write_text(GOOD.replace("-2\t<unk>\t0\n", "").replace("ngram 1=5", "ngram 1=4"))
    with pytest.raises(ValueError, match="<unk> must be among the unigrams, got none"):
        read(path)


def test_a_packed_file_is_no_arpa_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.arpa"
    path.write_bytes(gzip.compress(GOOD.encode()))
    with pytest.raises(ValueError, match=r"bad\.arpa:1: an ARPA file must begin"):
        read(path)


def test_the_line_is_counted_over_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngram.formats.arpa, "LINES_AT_ONCE", 7)
    lines = (GOLDEN / "order3.arpa").read_text().splitlines()
    wrong = lines.index("\\3-grams:") + 300
    lines[wrong] = lines[wrong].replace("-", "+", 1)
    path = tmp_path / "bad.arpa"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=f"bad.arpa:{wrong + 1}: a log10 probability must be"):
        read(path)


LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
from ngram.formats.arpa import write_arpa
from ngram.rows.backoff import Grams
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
words = np.arange(1000, dtype=np.int32)[:, None]
write_arpa(Path(sys.argv[1]), [Grams(words, np.full(1000, -3.0), None)])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of file sizes")
def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.arpa"
    path.write_text("old")
    # A limit of the file's size fails a write as a full disk does.
    run = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True)
    assert run.returncode == 1
    assert "OSError" in run.stderr
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.arpa"]


def test_the_writer_formats_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = written(tmp_path / "whole.arpa", random_texts(2), 2).read_text()
    monkeypatch.setattr(ngram.formats.arpa, "LINES_AT_ONCE", 3)
    assert written(tmp_path / "pieces.arpa", random_texts(2), 2).read_text() == whole
