"""`heads train`, `heads analyse` and `--draft heads…`: what they write, print and refuse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from programs import TEXT, Run, bpe_tokenizer
from refusals import assert_refused

from reference.training import loop

RunJson = Callable[..., Any]
SMALL = ("--heads", "3", "--steps", "12", "--positions", "32", "--window", "24")
BRIEF = ("--prompts", "prompts.txt", "--num-prompts", "3", "--max-new-tokens", "10")
REPLAYED = ("--temperature", "0", "--gamma", "1,2", "--repeats", "1")


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory, folders: Path) -> Path:
    """Returns a folder with a text to train on, and heads and an n-gram trained on it."""
    from click.testing import CliRunner

    from specplan.main import main

    root = tmp_path_factory.mktemp("heads")
    (root / "corpus.txt").write_text(TEXT, encoding="utf-8")
    corpus = ("--corpus", str(root / "corpus.txt"))
    target = str(folders / "target")
    for arguments in (
        ("heads", "train", "--target", target, *corpus, *SMALL, "-o", str(root / "heads")),
        *(
            ("ngram", "train", "--order", "3", *corpus, "--tokenizer", str(folders / name),
             "-o", str(root / f"{name}.arpa"))
            for name in ("target", "other")
        ),
    ):
        result = CliRunner().invoke(main, list(arguments))
        assert result.exit_code == 0, result.output
    return root


@pytest.fixture
def trained(laboratory: Path, folders: Path, run: Run) -> Path:
    """Returns that folder, seen from the folder of models."""
    for name in ("heads", "corpus.txt", "target.arpa", "other.arpa"):
        link = folders / f"lab-{name}"
        if not link.exists():
            link.symlink_to(laboratory / name)
        description = laboratory / f"{name}.json"
        if description.exists() and not (folders / f"lab-{name}.json").exists():
            (folders / f"lab-{name}.json").symlink_to(description)
    return laboratory


def test_trained_heads_are_a_folder_that_draft_takes(trained: Path, run_json: RunJson) -> None:
    assert {path.name for path in (trained / "heads").iterdir()} == {
        "heads.json", "heads.safetensors"
    }  # fmt: skip
    assert not (trained / "heads.training").exists()
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
        "measure", "--target", "target", "--draft", "heads:lab-heads", *BRIEF, "--max-gamma", "2"
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
    assert (result["heads"], result["k"]) == (3, 4)
    assert result["tuning_texts"] + result["texts"] == 3
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


class KilledError(BaseException):
    """Stands for a kill."""


def test_a_killed_training_resumes_as_if_it_had_not_been(
    trained: Path, run: Run, run_json: RunJson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ("heads", "train", "--target", "target", "--corpus", "lab-corpus.txt", *SMALL, "-o")
    output = tmp_path / "killed"
    saved = loop.save_checkpoint

    def save_and_die(*arguments: Any, **settings: Any) -> None:
        saved(*arguments, **settings)
        raise KilledError

    with monkeypatch.context() as patches:
        patches.setattr(loop, "save_checkpoint", save_and_die)
        with pytest.raises(KilledError):
            run(*ask, str(output), catch_exceptions=False)
    assert not output.exists()
    resumed = run_json(*ask, str(output))
    assert resumed["resumed_at_step"] == 12
    assert (output / "heads.safetensors").read_bytes() == (
        trained / "heads" / "heads.safetensors"
    ).read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["killed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "draft", "--draft", "heads:lab-heads"),
         "heads in lab-heads must be trained on the states of draft, got those of a model with "
         "other weights ("),
        (("--target", "wide", "--draft", "heads:lab-heads"),
         "heads in lab-heads must be as wide as the states of wide, 16, got 32"),
        (("--target", "target", "--draft", "heads"),
         "draft heads needs the embedded target, got target; train its own with: specplan heads"),
        (("--target", "target", "--draft", "heads:lab-heads*2", "--verification", "block"),
         "draft heads:lab-heads*2 branches and must be verified by the strict rule, got block"),
        (("--target", "target", "--draft", "heads:target"),
         "heads must be a folder that specplan heads train wrote, got target without heads.json"),
        (("--target", "target", "--draft", "heads:lab-heads*2", "--lattice-k", "301"),
         "k must lie in [1, 300], the tokens of the vocabulary, got 301"),
        (("--target", "target", "--draft", "heads:lab-heads+ngram:lab-other.arpa"),
         "lab-other.arpa must be of the tokenizer of target, got one "),
        (("--target", "target", "--draft", "heads:lab-heads+ngram:none.arpa"),
         "draft ngram:FILE must be an existing file, got none.arpa"),
        (("--target", "target", "--draft", "heads:lab-heads+hf:other"),
         "share one tokenizer, got target with 300 tokens and other with 290"),
        (("--target", "target", "--draft", "heads:lab-heads+ngram:lab-target.arpa",
          "--rescoring-weight", "-1"), "weight must be finite and at least 0, got -1.0"),
        (("--target", "target", "--draft", "heads:lab-heads+hf:draft",
          "--rescoring-weight", "nan"), "weight must be finite and at least 0, got nan"),
    ],
    ids=str,
)  # fmt: skip
def test_unusable_heads_are_one_line(
    trained: Path, folders: Path, run: Run, arguments: tuple[str, ...], message: str
) -> None:
    if not (folders / "wide").exists():
        from transformers import LlamaConfig, LlamaForCausalLM

        LlamaForCausalLM(
            LlamaConfig(
                vocab_size=300, hidden_size=16, intermediate_size=24, num_hidden_layers=1,
                num_attention_heads=2, max_position_embeddings=96, bos_token_id=None,
                eos_token_id=0,
            )
        ).save_pretrained(folders / "wide")  # fmt: skip
        bpe_tokenizer(tokens=300).save_pretrained(folders / "wide")
    assert_refused(run("validate", *arguments, *BRIEF), message)


def test_more_drafts_than_paths_are_all_paths_and_said_once(
    trained: Path, run: Run
) -> None:
    result = run(
        *("validate", "--target", "target", "--draft", "heads:lab-heads*99", "--lattice-k", "3"),
        *(*BRIEF, *REPLAYED),
    )
    assert result.exit_code == 0, result.output
    assert result.stderr.count("9 paths") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--corpus", "short.txt"),
         "a training text must have more tokens than there are heads, 9, got "),
        (("--corpus", "none.txt"), "corpus must be an existing file or folder, got none.txt"),
        (("--corpus", "lab-corpus.txt", "--window", "9"),
         "a window must be longer than there are heads, 9, got 9"),
        (("--corpus", "lab-corpus.txt", "--window", "97"),
         "window must fit the 96 positions of target, got 97"),
        (("--corpus", "lab-corpus.txt", "--rate", "0"), "peak must be finite and above 0, got 0.0"),
        (("--corpus", "lab-corpus.txt", "--target", "encdec"),
         "heads are trained for decoder-only models, got encdec (encoder-decoder)"),
        (("--corpus", "lab-corpus.txt", "-o", "target"), "target is a folder"),
    ],
    ids=str,
)  # fmt: skip
def test_what_heads_cannot_be_trained_on_is_one_line(
    trained: Path, folders: Path, run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (folders / "short.txt").write_text("x = 1")
    target = () if "--target" in arguments else ("--target", "target")
    output = () if "-o" in arguments else ("-o", str(tmp_path / "made"))
    result = run("heads", "train", *target, *output, *arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--draft", "draft"), "draft must be heads or heads:FOLDER, got draft"),
        (("--draft", "heads:lab-heads*2"), "heads:FOLDER without rescorer, got heads:lab-heads*2"),
        (("--draft", "heads:lab-heads", "--neural", "lookup"), "neural must name a model, got"),
        (("--draft", "heads:lab-heads", "--ngram", "lab-other.arpa"),
         "lab-other.arpa must be of the tokenizer of target, got one "),
        (("--draft", "heads:lab-heads", "--num-prompts", "1"), "needs at least 2 prompts"),
        (("--draft", "heads:lab-heads", "--lattice-k", "400"), "k must lie in [1, 300]"),
    ],
    ids=str,
)
def test_what_cannot_be_analysed_is_one_line(
    trained: Path, run: Run, arguments: tuple[str, ...], message: str
) -> None:
    assert_refused(run("heads", "analyse", "--target", "target", *BRIEF, *arguments), message)
