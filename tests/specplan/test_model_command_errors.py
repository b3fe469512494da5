"""Bad input to measure, validate and generate: one line, status 2, and before any run."""

import shutil
from pathlib import Path

import pytest
import torch
from programs import Run
from refusals import assert_refused
from safetensors.torch import load_file, save_file

import estimator.runs.arms
import reference.generation

PAIR = ("--target", "target", "--draft", "draft")
TEXT = ("--prompts", "prompts.txt")
COMMANDS = ("measure", "validate", "generate")


@pytest.fixture(autouse=True)
def _no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a test whose command gets as far as decoding."""

    def decode(*arguments: object, **settings: object) -> None:
        raise AssertionError("bad input was found too late")

    monkeypatch.setattr(estimator.runs.arms, "begun", decode)
    monkeypatch.setattr("estimator.traces.measured_traces.decode", decode)
    monkeypatch.setattr(reference.generation, "speculative_blocks", decode)


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "target"), "draft must be given with a target, got none"),
        (("--target", "target", "--draft", "embedded"),
         "draft embedded needs the embedded target, got target"),
        ((*PAIR, "--device", "cuda"), "got cuda without a CUDA device"),
        ((*PAIR, "--draft-temperature", "-1"),
         "draft_temperature must be 0, or finite and at least 1e-06, got -1.0"),
        ((*PAIR, "--draft-temperature", "nan"), "draft_temperature must be 0, or finite"),
        ((*PAIR, "--top-k", "0"), "top_k must be at least 1, got 0"),
        ((*PAIR, "--top-p", "0"), "top_p must lie in (0, 1], got 0.0"),
        ((*PAIR, "--top-p", "1.5"), "top_p must lie in (0, 1], got 1.5"),
        ((*PAIR, "--top-p", "nan"), "top_p must lie in (0, 1], got nan"),
        ((*PAIR, "--min-p", "2"), "min_p must lie in [0, 1], got 2.0"),
        ((*PAIR, "--repetition-penalty", "0"), "repetition_penalty must be finite and above 0"),
        ((*PAIR, "--max-new-tokens", "0"), "0 is not in the range x>=1"),
        ((*PAIR, "--dtype", "int8"), "'int8' is not one of"),
        (("--target", "prompts.txt", "--draft", "draft"), "'prompts.txt' could not be loaded"),
        (("--target", "empty", "--draft", "draft"),
         "tokenizer 'empty' could not be loaded: the folder has no config.json and no "
         "tokenizer.json; name a folder that save_pretrained wrote, or a model of the Hugging"),
        (("--target", "no/such/folder", "--draft", "draft"),
         "'no/such/folder' could not be loaded: there is no such folder; name a folder"),
        (("--target", "/no/such", "--draft", "embedded"),
         "tokenizer '/no/such' could not be loaded: there is no such folder; name a folder"),
        (("--target", "target", "--draft", "nowhere/at/all"),
         "'nowhere/at/all' could not be loaded"),
        (("--target", "target", "--draft", "other"),
         "share one tokenizer, got target with 300 tokens and other with 290"),
        (("--target", "target", "--draft", "encdec"), "got target (decoder-only) and encdec ("),
        (("--target", "encdec", "--draft", "draft"), "got encdec (encoder-decoder) and draft ("),
        (("--target", "target", "--draft", "exit:2"),
         "before the last of the 2 layers of target, got 2"),
        (("--target", "target", "--draft", "exit"), "needs a value after the colon, got 'exit'"),
        (("--target", "target", "--draft", "ngram:none.arpa"),
         "draft ngram:FILE must be an existing file, got none.arpa\n"),
        (("--target", "target", "--draft", "lookup+ngram:none.arpa", "--force"),
         "draft ngram:FILE must be an existing file, got none.arpa\n"),
        ((*PAIR, "--chat", *TEXT), "chat template, got that of target, which has none"),
        ((*PAIR, "--chat"), "chat needs a prompt of your own, got none"),
        (("--target", "chat", "--draft", "draft", "--chat", "--prompt-tokens", "4", *TEXT),
         "prompt_tokens cannot be given with chat"),
        ((*PAIR, *TEXT, "--max-new-tokens", "90"), "must fit the 96 positions of target, got "),
    ],
    ids=str,
)  # fmt: skip
def test_bad_input_is_refused_alike(
    run: Run, folders: Path, command: str, arguments: tuple[str, ...], message: str
) -> None:
    (folders / "empty").mkdir(exist_ok=True)
    assert_refused(run(command, *arguments), message)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.txt", None, "prompts must be an existing file, folder or glob, got none.txt"),
        ("empty.txt", b"", "prompts must hold at least one prompt, got none in empty.txt"),
        ("blank.jsonl", b'{"prompt": " "}\n', "a prompt must not be empty"),
        ("bytes.txt", b"\xff\xfe\xfd", "prompts must be readable UTF-8 text, got bytes.txt"),
        ("half.jsonl", b'{"prompt": ', "half.jsonl line 1 must be JSON"),
    ],
)
def test_unusable_prompts_are_refused(
    run: Run, folders: Path, command: str, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (folders / name).write_bytes(content)
    assert_refused(run(command, *PAIR, "--prompts", name), message)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("temperature", ["-1", "nan", "inf", "x"])
def test_an_impossible_temperature_is_refused(run: Run, command: str, temperature: str) -> None:
    message = "not a" if temperature == "x" else "temperature must be 0, or finite and at least"
    assert_refused(run(command, *PAIR, *TEXT, "--temperature", temperature), message)


@pytest.mark.parametrize("gamma", ["0", "-3", "x", "1.5"])
@pytest.mark.parametrize("command", ["validate", "generate"])
def test_an_impossible_gamma_is_refused(run: Run, command: str, gamma: str) -> None:
    result = run(command, *PAIR, *TEXT, "--gamma", gamma)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert gamma in result.stderr


@pytest.mark.parametrize("command", ["validate", "generate"])
def test_lenience_is_refused_under_block_verification(run: Run, command: str) -> None:
    message = "lenience must be 1 under block verification, got 0.5"
    given = ("--lenience", "0.5", "--verification", "block")
    assert_refused(run(command, *PAIR, *TEXT, *given), message)


@pytest.mark.parametrize("command", ["validate", "generate"])
@pytest.mark.parametrize("lenience", ["0", "1.1", "nan"])
def test_an_impossible_lenience_is_refused(run: Run, command: str, lenience: str) -> None:
    message = f"lenience must lie in (0, 1], got {float(lenience)}"
    assert_refused(run(command, *PAIR, *TEXT, "--lenience", lenience), message)


@pytest.mark.parametrize("command", ["measure", "validate"])
def test_a_draft_with_too_few_positions_to_score_is_refused(run: Run, command: str) -> None:
    pair = ("--target", "target", "--draft", "few")
    assert_refused(
        run(command, *pair, *TEXT, "--max-new-tokens", "60"),
        "must fit the 40 positions of the draft few, got ",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("measure", "-o", "no/profile.json"), "folder no does not exist"),
        (("measure", "-o", "target"), "target is a folder"),
        (("measure", "--draft", "lookup"), "draft must be given once, got draft, lookup"),
        (("measure", "--num-prompts", "0"), "0 is not in the range x>=1"),
        (("validate", "--num-prompts", "0"), "0 is not in the range x>=1"),
        (("measure", "--max-gamma", "0"), "0 is not in the range 1<=x<=1000"),
        (("measure", "--max-gamma", "1001"), "1001 is not in the range 1<=x<=1000"),
        (("validate", "--gamma", "4,30000"), "gamma must lie in [1, 1000], got 30000"),
        (("generate", "--gamma", "30000"), "30000 is not in the range 1<=x<=1000"),
        (("validate", "--figure", "no/a.png"), "folder no does not exist"),
        (("validate", "--figure", "a.pdf"), "must end in .png or .svg, got a.pdf"),
        (("validate", "--figure", "a.png", "--policy", "heuristic"),
         "figure needs a row that replay predicts"),
        (("validate", "--figure", "a.png", "--lenience", "0.5", "--temperature", "1"),
         "figure needs a row that replay predicts"),
        (("validate", "--policy", "clever"), "policy must be fixed, heuristic, confidence:P or"),
        (("validate", "--policy", "confidence:2"), "needs a threshold P in [0, 1]"),
        (("validate", "--repeats", "0"), "0 is not in the range x>=1"),
        (("validate", "--decoder", "clever"), "'clever' is not"),
        (("generate", "--policy", "clever"), "policy must be fixed, heuristic, confidence:P or"),
        (("generate", "--stop", ""), "a stop string must have at least one character"),
        (("generate", "--prompt", "a"), "prompt and prompts cannot both be given"),
    ],
    ids=str,
)  # fmt: skip
def test_bad_input_of_one_command_is_refused(
    run: Run, arguments: tuple[str, ...], message: str
) -> None:
    command, *rest = arguments
    assert_refused(run(command, *PAIR, *TEXT, *rest), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("measure",), "draft must not be a tree, got draft tree:-1,-1: measure its model"),
        (("validate", "--gamma", "1,2"), "gamma must be one number for draft, tree of 2"),
        (("validate", "--policy", "heuristic"), "gamma must be one number"),
        (("validate", "--gamma", "2", "--lenience", "0.5"), "must be verified by the strict rule"),
        (("validate", "--gamma", "2", "--temperature", "0,1"),
         "draft_temperature must be 0 for draft, tree of 2, got 1: what trees of drawn tokens"),
        (("validate", "--gamma", "2", "--compile", "on"), "compile cannot be given with a tree"),
        (("generate", "--verification", "block"), "by the strict rule, got block"),
        (("generate", "--lenience", "0.5"), "tree:-1,-1 branches and must be verified by"),
    ],
    ids=str,
)  # fmt: skip
def test_what_a_tree_cannot_be_asked_is_refused(
    run: Run, arguments: tuple[str, ...], message: str
) -> None:
    command, *rest = arguments
    tree = ("--target", "target", "--draft", "draft tree:-1,-1")
    assert_refused(run(command, *tree, *TEXT, *rest), message)


@pytest.mark.parametrize("prompt", ["", " \n"])
def test_an_empty_prompt_is_refused(run: Run, prompt: str) -> None:
    message = "prompt must not be empty, got an empty one"
    assert_refused(run("generate", *PAIR, "--prompt", prompt), message)


@pytest.mark.parametrize("damage", ["config.json", "model.safetensors"])
def test_a_damaged_model_is_refused(run: Run, folders: Path, damage: str) -> None:
    folder = folders / f"damaged-{damage}"
    folder.mkdir()
    for file in (folders / "target").iterdir():
        content = b"{" if file.name == damage else file.read_bytes()
        (folder / file.name).write_bytes(content)
    assert_refused(run("measure", "--target", folder.name, *PAIR[2:], *TEXT), "could not be loaded")


def test_a_model_without_weights_is_refused(run: Run, folders: Path) -> None:
    folder = folders / "weightless"
    folder.mkdir()
    for file in (folders / "target").glob("*.json"):
        (folder / file.name).write_bytes(file.read_bytes())
    assert_refused(run("measure", "--target", folder.name, *PAIR[2:], *TEXT), "could not be loaded")


def test_a_model_that_lacks_a_weight_is_refused(run: Run, folders: Path) -> None:
    folder = folders / "incomplete"
    shutil.copytree(folders / "target", folder)
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    message = "must have all of its weights, got none for model.layers.1.mlp.up_proj.weight"
    result = run("measure", "--target", "incomplete", *PAIR[2:], *TEXT)
    assert result.exit_code == 2
    assert message in result.stderr.splitlines()[-1]
