"""`specplan ngram`: train, info and score, by what they print and by how they fail."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from specplan.main import main
from tests.specplan.refusals import assert_refused, refused

WORDS = ["def", "return", "x", "y", "(", ")", ":", "+"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["ngram", *map(str, arguments)])


def tokenizer(folder: Path, *special: str) -> Path:
    """Returns a folder with a tokenizer of whole words."""
    words = [*WORDS, "<other>", *special, "<end>"]
    vocabulary = {word: number for number, word in enumerate(words)}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<other>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<end>", unk_token="<other>"
    ).save_pretrained(folder)
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a folder with a tokenizer `tok` and a corpus `text`, without lmplz on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    tokenizer(tmp_path / "tok")
    (tmp_path / "text").mkdir()
    for number in range(12):
        content = "def x ( ) : return x " + "+ y " * (number % 4) + "( y ) " * (number % 3)
        (tmp_path / "text" / f"{number}.txt").write_text(content)
    (tmp_path / "empty.txt").touch()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("def x")
    return tmp_path


def train(place: Path, *more: object, corpus: str = "text") -> Result:
    return run(
        *("train", "--corpus", place / corpus, "--tokenizer", place / "tok"),
        *("-o", place / "model.arpa", *more),
    )


def trained(place: Path, *more: object) -> Path:
    result = train(place, *more)
    assert result.exit_code == 0, result.output
    return place / "model.arpa"


def report(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_train_writes_a_model_and_prints_its_sizes(place: Path) -> None:
    result = train(place, "--order", 2)
    assert result.exit_code == 0
    assert "order 2, 12 texts of 156 tokens, estimated by specplan" in result.stdout
    given = {"empty.txt", "notes", "text", "tok"}
    assert set(os.listdir(place)) == {*given, "model.arpa", "model.arpa.json"}
    found = report(train(place, "--prune", "0,1", "--json"))
    assert (found["order"], found["prune"], found["estimator"]) == (3, [0, 1, 1], "own")
    assert (found["texts"], len(found["ngrams"])) == (12, 3)
    assert found["bytes"] == (place / "model.arpa").stat().st_size


def test_a_thin_corpus_is_a_warning_for_each_order(place: Path) -> None:
    (place / "small.txt").write_text("x y")
    result = train(place, "--order", 2, corpus="small.txt")
    assert result.exit_code == 0
    for order in (1, 2):
        warning = f"Warning: the corpus .* discounts of {order}-grams; 0.5, 1 and 1.5 are used"
        assert re.search(warning, " ".join(result.stderr.split()))


def test_katz_is_trained_and_said_in_the_description(place: Path) -> None:
    katz, plain = trained(place, "--smoothing", "katz"), place / "plain.arpa"
    katz_info = report(run("info", katz, "--json"))
    assert katz_info["description"]["smoothing"] == "katz"
    run(
        *("train", "--order", "2", "--corpus", place / "text", "--tokenizer", place / "tok"),
        *("-o", plain),
    )
    assert report(run("info", plain, "--json"))["description"]["smoothing"] == "kneser-ney"
    assert katz.read_bytes() != plain.read_bytes()


def test_unreadable_bytes_are_a_warning(place: Path) -> None:
    (place / "text" / "bad.txt").write_bytes(b"def \xff\xfe x")
    result = train(place)
    assert "Warning: 2 unreadable byte sequences in the corpus were replaced" in result.stderr


def test_info_tells_the_model_with_its_description_or_without(place: Path) -> None:
    path = trained(place)
    text = run("info", path).stdout
    assert "trained on 12 texts of 156 tokens by specplan, pruned at 0,0,0" in text
    found = report(run("info", path, "--json"))
    assert found["order"] == 3
    assert found["ngrams"] == found["description"]["ngrams"]
    (place / "model.arpa.json").unlink()
    assert "no description next to it (model.arpa.json)" in run("info", path).stdout
    assert report(run("info", path, "--json"))["description"] is None
    needed = run("score", path, "--corpus", place / "text")
    assert_refused(needed, "tokenizer must be given for")


def test_score_by_rows_and_by_kenlm(place: Path) -> None:
    path = trained(place)
    found = report(run("score", path, "--corpus", place / "text", "--json"))
    assert found["tokens"] == 156 + 12
    assert found["unknown"] == 0
    assert found["perplexity_known"] == pytest.approx(found["kenlm_perplexity_known"], rel=1e-5)
    assert 1 < found["perplexity"] < len(WORDS)
    text = run("score", path, "--corpus", place / "text").stdout
    assert "168 tokens and ends of text, 0 unknown to the model" in text
    assert "KenLM" in text


def test_order_1_is_scored_without_kenlm(place: Path) -> None:
    path = trained(place, "--order", 1)
    found = report(run("score", path, "--corpus", place / "text", "--json"))
    assert found["kenlm_perplexity"] is None
    assert found["perplexity"] > 1


def test_another_tokenizer_needs_force(place: Path) -> None:
    path, other = trained(place), tokenizer(place / "other", "new")
    arguments = ("score", path, "--corpus", place / "text", "--tokenizer", other)
    assert_refused(run(*arguments), "--force takes it all the same")
    assert run(*arguments, "--force").exit_code == 0


def test_a_tokenizers_folder_is_found_again_from_elsewhere(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    trained_here = run("train", "--corpus", "text", "--tokenizer", "tok", "-o", "model.arpa")
    assert trained_here.exit_code == 0, trained_here.output
    monkeypatch.chdir(place / "text")
    found = report(run("info", "../model.arpa", "--json"))
    assert found["description"]["tokenizer"] == str((place / "tok").resolve())
    assert run("score", "../model.arpa", "--corpus", "1.txt").exit_code == 0


def test_a_tokenizer_that_is_gone_is_said_to_be_named_by_the_description(place: Path) -> None:
    path = trained(place)
    (place / "tok").rename(place / "moved")
    refused = run("score", path, "--corpus", place / "text")
    assert refused.exit_code == 2
    assert f"tokenizer '{place / 'tok'}' could not be loaded: there is no" in refused.stderr
    assert f"(named by {path}.json; --tokenizer overrides it)\n" in refused.stderr
    arguments = ("score", path, "--corpus", place / "text", "--tokenizer", place / "moved")
    assert run(*arguments).exit_code == 0


def test_the_embedded_tokenizer_is_taken_by_name(place: Path) -> None:
    path = place / "model.arpa"
    arguments = ("train", "--order", 2, "--corpus", place / "text", "--tokenizer", "embedded")
    found = report(run(*arguments, "-o", path, "--json"))
    assert found["tokenizer"] == "embedded"
    assert run("score", path, "--corpus", place / "text").exit_code == 0
    embedded = ("score", path, "--corpus", place / "text", "--tokenizer", "embedded")
    assert run(*embedded).exit_code == 0
    other = run("score", path, "--corpus", place / "text", "--tokenizer", place / "tok")
    assert "got one trained with embedded; --force takes it all the same" in other.stderr


@pytest.mark.parametrize(("words", "message"), refused("ngram"))
def test_corpora_that_cannot_be_trained_on_are_refused(
    words: list[str], message: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    assert_refused(run(*words[1:]), message)
    assert not (place / "model.arpa").exists()


def test_a_bad_arpa_file_is_one_line(place: Path) -> None:
    path = trained(place)
    path.write_text(path.read_text().replace("\\2-grams", "\\two-grams"))
    assert_refused(run("info", path), "\\2-grams: should be here")


def test_help_lists_whole_summaries() -> None:
    text = run("--help").stdout
    for line in text.partition("Commands:\n")[2].strip().splitlines():
        assert line.endswith(".")
        assert not line.endswith("...")


@pytest.mark.parametrize("command", ["train", "info", "score"])
def test_help_has_an_example(command: str) -> None:
    assert f"specplan ngram {command}" in run(command, "--help").stdout
