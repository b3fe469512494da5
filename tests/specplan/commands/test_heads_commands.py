"""`heads train`, `heads analyse` and `--draft heads…`: what they write, print and refuse."""

import json
from pathlib import Path

import pytest

from simulator.numerics.intervals import CONFIDENCE
from tests.specplan.interruptions import killed_at_a_checkpoint
from tests.specplan.model_folders import llama
from tests.specplan.programs import TEXT, Run, RunJson, bpe_tokenizer
from tests.specplan.refusals import assert_refused, refused

SMALL = ("--heads", "3", "--steps", "12", "--positions", "32", "--window", "24")
BRIEF = ("--prompts", "prompts.txt", "--num-prompts", "2", "--max-new-tokens", "6")
REPLAYED = ("--temperature", "0", "--gamma", "1,2", "--repeats", "1")


@pytest.fixture(scope="module")
def trained(folders: Path) -> Path:
    """Returns the folder of models with a text to train on, and heads and n-grams trained on it."""
    from click.testing import CliRunner

    from specplan.main import main

    (folders / "lab-corpus.txt").write_text(TEXT, encoding="utf-8")
    corpus = ("--corpus", str(folders / "lab-corpus.txt"))
    target = ("--target", str(folders / "target"))
    for arguments in (
        ("heads", "train", *target, *corpus, *SMALL, "-o", str(folders / "lab-heads")),
        *(
            ("ngram", "train", "--order", "3", *corpus, "--tokenizer", str(folders / name), "-o",
             str(folders / f"lab-{name}.arpa"))
            for name in ("target", "other")
        ),
    ):  # fmt: skip
        result = CliRunner().invoke(main, list(arguments))
        assert result.exit_code == 0, result.output
    return folders


def test_trained_heads_are_a_folder_that_draft_takes(trained: Path, run_json: RunJson) -> None:
    assert {path.name for path in (trained / "lab-heads").iterdir()} == {
        "heads.json", "heads.safetensors"
    }  # fmt: skip
    assert not (trained / "lab-heads.training").exists()
    drafts = (
        "heads:lab-heads", "heads:lab-heads+ngram:lab-target.arpa", "heads:lab-heads+hf:draft",
        "heads:lab-heads*3", "heads:lab-heads+ngram:lab-target.arpa*3",
    )  # fmt: skip
    asked = [word for draft in drafts for word in ("--draft", draft)]
    rows = run_json(
        "validate", "--target", "target", *asked, *BRIEF, *REPLAYED, "--lattice-k", "4"
    )["rows"]
    assert [row["draft"] for row in rows] == [draft for draft in drafts for _ in (1, 2)]
    for row in rows:
        assert row["identical_to_target"] is True
        assert row["predicted_target_calls"] == row["target_calls"]
        assert row["draft_temperature"] == (0 if row["draft"] == "heads:lab-heads" else None)


def test_heads_sample_and_say_at_which_temperature(trained: Path, run_json: RunJson) -> None:
    profile = run_json(
        *("measure", "--target", "target", "--draft", "heads:lab-heads", *BRIEF),
        *("--max-gamma", "2", "--repeats", "1"),
    )
    assert 0 < profile["alpha"]["value"] < 1
    assert profile["setup"]["draft_temperature"] == 1


def test_an_analysis_of_ones_own_heads(trained: Path, run: Run, run_json: RunJson) -> None:
    asked = (
        *("heads", "analyse", "--target", "target", "--draft", "heads:lab-heads"),
        *("--ngram", "lab-target.arpa", "--neural", "draft", "--lattice-k", "4", *BRIEF),
    )
    result = run_json(*asked)
    assert [row["name"] for row in result["variants"]] == [
        "base", "3-gram", "neural", "parallel base", "parallel 3-gram", "oracle k=4"
    ]  # fmt: skip
    assert (result["heads"], result["k"], result["confidence"]) == (3, 4, CONFIDENCE)
    assert result["tuning_texts"] + result["texts"] == 2
    shown = run(*asked)
    assert shown.exit_code == 0, shown.output
    assert "parallel 3-gram" in shown.stdout
    assert "h_max" in shown.stdout


def test_an_eagle3_head_is_trained_in_the_layout_that_servers_load_and_drafts(
    trained: Path, run_json: RunJson, tmp_path: Path
) -> None:
    output = tmp_path / "head"
    found = run_json(
        *("heads", "train", "--kind", "eagle3", "--target", "target"),
        *("--corpus", "lab-corpus.txt", "--steps", "30", "--window", "24", "--positions", "48"),
        *("--unrolled", "2", "--hidden", "8", "-o", str(output)),
    )
    assert (found["steps"], found["hidden"], len(found["held_out_acceptance"])) == (30, 8, 2)
    assert all(0 <= rate <= 1 for rate in found["held_out_acceptance"])
    config = json.loads((output / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLMEagle3"]
    text = run_json(
        *("generate", "--target", "target", "--draft", f"eagle3:{output}"),
        *("--prompt", "a b a b", "--max-new-tokens", "6", "--temperature", "0"),
    )
    assert text["drafted"] > 0


def test_model_and_heads_trained_together_are_one_folder(
    trained: Path, run_json: RunJson, tmp_path: Path
) -> None:
    output = tmp_path / "both"
    result = run_json(
        *("heads", "train", "--target", "target", "--corpus", "lab-corpus.txt", *SMALL),
        *("--joint", "-o", str(output)),
    )
    assert result["joint"] is True
    rows = run_json(
        *("validate", "--target", str(output), "--draft", f"heads:{output}", *BRIEF, *REPLAYED)
    )["rows"]
    assert all(row["identical_to_target"] for row in rows)


def test_a_killed_training_resumes_as_if_it_had_not_been(
    trained: Path, run: Run, run_json: RunJson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ("heads", "train", "--target", "target", "--corpus", "lab-corpus.txt", *SMALL, "-o")
    output = tmp_path / "killed"
    with killed_at_a_checkpoint(monkeypatch):
        run(*ask, str(output), catch_exceptions=False)
    assert not output.exists()
    resumed = run_json(*ask, str(output))
    assert resumed["resumed_at_step"] == 12
    assert (output / "heads.safetensors").read_bytes() == (
        trained / "lab-heads" / "heads.safetensors"
    ).read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["killed"]


@pytest.mark.parametrize(("words", "message"), refused("heads"))
def test_settings_that_heads_lack_are_refused(
    trained: Path, folders: Path, run: Run, words: list[str], message: str
) -> None:
    if not (folders / "wide").exists():
        llama(seed=0, vocabulary=300, width=16).save_pretrained(folders / "wide")
        bpe_tokenizer(tokens=300).save_pretrained(folders / "wide")
        (folders / "short.txt").write_text("x = 1")
    assert_refused(run(*words), message)
    assert not (folders / "made").exists()


def test_more_drafts_than_paths_are_all_paths_and_said_once(trained: Path, run: Run) -> None:
    result = run(
        *("validate", "--target", "target", "--draft", "heads:lab-heads*99", "--lattice-k", "3"),
        *(*BRIEF, *REPLAYED),
    )
    assert result.exit_code == 0, result.output
    assert result.stderr.count("9 paths") == 1
