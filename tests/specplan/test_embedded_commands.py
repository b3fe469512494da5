"""The model commands without a target: the embedded models, drafters and prompts."""

import json
from pathlib import Path

import pytest

from tests.specplan.programs import Run, RunJson

BRIEF = (
    *("--num-prompts", "1", "--prompt-tokens", "24", "--max-new-tokens", "5"),
    *("--repeats", "1"),
)


def test_greedy_output_is_the_targets_own_on_every_embedded_prompt(run_json: RunJson) -> None:
    result = run_json(
        *("validate", "--temperature", "0", "--gamma", "1,8", "--repeats", "1"),
        *("--prompt-tokens", "24", "--max-new-tokens", "4"),
    )
    assert [row["gamma"] for row in result["rows"]] == [1, 8]
    for row in result["rows"]:
        assert row["draft"] == "embedded"
        assert row["identical_to_target"] is True
        assert row["predicted_target_calls"] == row["target_calls"]
        assert row["tokens"] <= 8 * 4
    assert result["rows"][0]["alpha"] > 0.5


@pytest.mark.parametrize(
    ("gamma", "drafts"),
    [
        ("2", ("embedded", "ngram", "lookup", "lookup+ngram", "exit:12")),
        ("8", ("heads", "heads+embedded", "heads+ngram*16")),
        ("3", ("embedded via:2 ngram", "exit:8 via embedded via lookup")),
    ],
)
def test_named_drafters_write_the_targets_text(
    run_json: RunJson, gamma: str, drafts: tuple[str, ...]
) -> None:
    asked = [word for draft in drafts for word in ("--draft", draft)]
    rows = run_json("validate", *asked, *BRIEF, "--gamma", gamma, "--temperature", "0")["rows"]
    assert [row["draft"] for row in rows] == [draft.replace("via:2", "via") for draft in drafts]
    for row in rows:
        assert row["identical_to_target"] is True
        assert row["predicted_target_calls"] == row["target_calls"]
    assert gamma != "2" or len({row["alpha"] for row in rows}) > 1


def test_a_tree_is_run_and_its_calls_are_predicted(run_json: RunJson) -> None:
    asked = ("--draft", "embedded tree:-1,-1,-1,0,0,1", "--draft-temperature", "0", "--gamma", "2")
    rows = run_json("validate", *asked, *BRIEF, "--temperature", "0,1")["rows"]
    assert [row["draft"] for row in rows] == ["embedded, tree of 6"] * 2
    assert [row["identical_to_target"] for row in rows] == [True, None]
    for row in rows:
        assert row["predicted_target_calls"] == row["target_calls"] < row["tokens"]


def test_a_tree_of_drawn_tokens_writes_text(run_json: RunJson) -> None:
    result = run_json(
        *("generate", "--draft", "embedded tree:-1,-1,-1,0,0,1", "--gamma", "2"),
        *("--prompt", "import os", "--temperature", "1", "--max-new-tokens", "12"),
    )
    assert 0 < result["target_calls"] <= 12


def test_an_ngram_drafter_is_measured(run_json: RunJson) -> None:
    profile = run_json("measure", "--draft", "ngram", *BRIEF, "--max-gamma", "2")
    assert 0 < profile["alpha"]["value"] < 1
    assert profile["c_hat"] == 0
    assert profile["setup"]["target"] == "embedded"


def test_the_embedded_target_may_be_named(run_json: RunJson) -> None:
    brief = ("--max-new-tokens", "6", "--prompt", "import os")
    named = run_json("generate", "--target", "embedded", *brief)
    assert named["tokens"] == run_json("generate", *brief)["tokens"]


def test_text_looks_like_python(run: Run) -> None:
    result = run(
        *("generate", "--prompt", "import os\n\n\ndef ", "--temperature", "0"),
        *("--max-new-tokens", "40"),
    )
    text = result.stdout.removeprefix("import os\n\n\ndef ")
    assert ":\n    " in text
    assert "(" in text


def test_the_embedded_ngram_is_of_the_embedded_tokenizer(run: Run) -> None:
    result = run("validate", "--target", "target", "--draft", "ngram", "--prompts", "prompts.txt")
    assert result.exit_code == 2
    assert "draft ngram is of the embedded tokenizer, got target target" in result.stderr


@pytest.mark.parametrize("draft", ["ngram", "lookup+ngram"])
def test_an_ngram_of_another_tokenizer_is_refused_unless_forced(
    run: Run, folders: Path, tmp_path: Path, draft: str
) -> None:
    """Trained for the tiny tokenizer; refused for another of as many tokens, taken with --force."""
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    model = tmp_path / "m.arpa"
    trained = run(
        *("ngram", "train", "--order", "2", "--corpus", str(corpus), "--tokenizer", "other"),
        *("-o", str(model)),
    )
    assert trained.exit_code == 0, trained.output
    options = [
        *("validate", "--target", "target", "--prompts", "prompts.txt", *BRIEF, "--gamma", "2"),
        *("--temperature", "0", "--json", "--draft"),
        f"{draft}:{model}",
    ]
    refused = run(*options)
    assert refused.exit_code == 2
    other = (folders / "other").resolve()
    assert f"must be of the tokenizer of target, got one trained with {other}; " in refused.stderr
    forced = run(*options, "--force")
    assert forced.exit_code == 0, forced.output
    assert json.loads(forced.stdout)["rows"][0]["identical_to_target"] is True
    own = run(*["other" if word == "target" else word for word in options])
    assert own.exit_code == 0, own.output
