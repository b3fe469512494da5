"""`specplan generate` on a tiny pair: text, blocks, colours, stopping, decoders, beams."""

import json
from itertools import islice
from typing import Any

import click
import pytest

from reference.records import Block
from reference.speculative import speculative_blocks
from specplan.commands.generate import generate_command
from specplan.reports.generation import coloured
from tests.specplan.programs import Run, RunJson

PAIR = ("--target", "target", "--draft", "draft")


@pytest.fixture
def generate() -> list[str]:
    return ["generate", *PAIR, "--prompt", "def fib(n):", "--max-new-tokens", "20"]


def test_json_holds_text_counts_and_blocks(run_json: RunJson, generate: list[str]) -> None:
    result = run_json(*generate)
    assert set(result) == {
        "text", "tokens", "target_calls", "drafted", "accepted", "accepted_fraction",
        "block_efficiency", "prefill_seconds", "decode_seconds", "draft_seconds",
        "verify_seconds", "other_seconds", "ending", "blocks", "lossless", "draft_calls",
        "rollbacks", "discarded",
    }  # fmt: skip
    assert len(result["tokens"]) <= 20
    assert [token for block in result["blocks"] for token in block["tokens"]] == result["tokens"]
    assert len(result["blocks"]) == result["target_calls"]
    assert result["ending"] in ("length", "end of text")
    assert result["lossless"] is True


def test_text_streams_to_stdout_and_counts_to_stderr(
    run: Run, run_json: RunJson, generate: list[str]
) -> None:
    result = run(*generate)
    assert result.exit_code == 0, result.output
    assert result.stdout == "def fib(n):" + run_json(*generate)["text"] + "\n"
    assert "tokens in" in result.stderr
    assert "drafted tokens accepted; ended by" in result.stderr


def test_a_seed_gives_one_text(run_json: RunJson, generate: list[str]) -> None:
    texts = [run_json(*generate, "--seed", seed)["tokens"] for seed in ("3", "3", "4")]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


@pytest.mark.parametrize(
    "options",
    [
        ("--gamma", "1"),
        ("--gamma", "7"),
        ("--policy", "heuristic"),
        ("--policy", "confidence:0.5"),
        ("--policy", "adaptive", "--max-gamma", "3"),
        ("--draft-temperature", "0.8"),
        ("--draft", "lookup"),
        ("--draft", "random"),
        ("--draft", "exit:1"),
    ],
    ids=" ".join,
)
def test_greedy_text_is_the_targets_own(
    run_json: RunJson, generate: list[str], options: tuple[str, ...]
) -> None:
    greedy = [*generate, "--temperature", "0"]
    without = [word for word in greedy if word not in ("--draft", "draft")]
    own = run_json(*without, "--decoder", "autoregressive")
    if options[0] == "--draft":
        greedy = without
    assert run_json(*greedy, *options)["tokens"] == own["tokens"]
    assert own["drafted"] == 0
    assert own["target_calls"] == len(own["tokens"])


def test_the_first_prompt_of_a_file_is_continued(run: Run, run_json: RunJson) -> None:
    options = [*PAIR, "--max-new-tokens", "4"]
    assert (
        run_json("generate", *options, "--prompts", "prompts.txt")["tokens"]
        == run_json("generate", *options, "--prompt", "def fib(n):")["tokens"]
    )


def test_a_stop_string_ends_the_text(run_json: RunJson, generate: list[str]) -> None:
    whole = run_json(*generate)
    # The text's third character ends it, with the whole token that contains it.
    stop = whole["text"][2]
    cut = run_json(*generate, "--stop", "no such text", "--stop", stop)
    assert cut["ending"] == "stop string"
    assert whole["text"].startswith(cut["text"])
    assert stop in cut["text"]
    assert len(cut["tokens"]) < len(whole["tokens"])


def test_each_block_is_printed_before_the_next_is_made(
    run: Run, run_json: RunJson, generate: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = speculative_blocks

    def interrupted(*arguments: Any, **settings: Any) -> Any:
        # A single token may end within a character, which is held back.
        yield from islice(own(*arguments, **settings), 3)
        raise KeyboardInterrupt

    arguments = [*generate, "--stop", "no such text"]
    whole = run_json(*arguments)["text"]
    monkeypatch.setattr("reference.speculative.speculative_blocks", interrupted)
    result = run(*arguments)
    assert result.exit_code == 130
    first = result.stdout.removeprefix("def fib(n):").rstrip("\n")
    assert first
    assert whole.startswith(first)
    assert len(first) < len(whole)


def test_lenience_is_said_to_be_lossy(run: Run, run_json: RunJson, generate: list[str]) -> None:
    arguments = [*generate, "--lenience", "0.01"]
    assert run_json(*arguments)["lossless"] is False
    printed = " ".join(run(*arguments).stderr.split())
    assert "Lossy: the rule lenient 0.01 changes the output distribution." in printed
    assert "tokens/s)" in printed


def test_an_encoder_decoder_gives_its_answer_alone(run: Run, run_json: RunJson) -> None:
    arguments = (
        *("generate", "--target", "encdec", "--draft", "encdec-draft", "--prompt", "hello"),
        *("--max-new-tokens", "8", "--temperature", "0"),
    )
    assert run(*arguments).stdout == run_json(*arguments)["text"] + "\n"


def test_a_chat_prompt_stands_in_its_template_and_is_not_repeated(
    run: Run, run_json: RunJson
) -> None:
    arguments = ["generate", "--target", "chat", *PAIR[2:], "--prompt", "Why?"]
    short = [*arguments, "--max-new-tokens", "5"]
    plain, chat = run_json(*short), run_json(*short, "--chat")
    by_hand = [*short[:-4], "--prompt", "<user>Why?<answer>", *short[-2:]]
    assert chat["tokens"] == run_json(*by_hand)["tokens"] != plain["tokens"]
    assert run(*short, "--chat").stdout == chat["text"] + "\n"


def test_show_has_a_line_for_each_block(run: Run, run_json: RunJson, generate: list[str]) -> None:
    blocks = run_json(*generate)["blocks"]
    result = run(*generate, "--show")
    assert result.exit_code == 0, result.output
    lines = result.stdout.split("\n")
    assert lines[0] == "def fib(n):"
    assert lines[-1] == ""
    assert len(lines[1:-1]) == len(blocks)
    for line, block in zip(lines[1:], blocks, strict=False):
        assert ("[" in line) >= (len(block["drafted"]) > block["accepted"])
    assert "tokens in" in result.stderr
    assert "\x1b[" not in result.stdout


def test_colours_are_for_terminals_and_not_under_no_color(
    run: Run, generate: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[3" in run(*generate, "--show", color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run(*generate, "--show", color=True).stdout


def decode(ids: Any) -> str:
    return "".join(chr(number) for number in ids)


def block(drafted: str, tokens: str, accepted: int) -> Block:
    ids, emitted = tuple(map(ord, drafted)), tuple(map(ord, tokens))
    return Block(len(ids), ids, emitted, accepted, 0.0, 0.0, 0.0, None)


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (block("abc", "abX", 2), "ab[c]|X"),
        (block("abc", "abcX", 3), "abc|X"),
        (block("abc", "X", 0), "[abc]|X"),
        (block("", "X", 0), "|X"),
        (block("ab", "a", 1), "a[b]"),
        (block("a\n", "a\nX", 2), "a\\n|X"),
    ],
)
def test_a_line_marks_its_parts_without_colour(shown: Block, line: str) -> None:
    assert click.unstyle(coloured(shown, decode, [])) == line


def test_a_line_has_the_colours_of_the_papers_figure() -> None:
    line = coloured(block("abc", "abX", 2), decode, [])
    parts = (("ab", "green"), ("c", "red"), ("X", "blue"))
    green, red, blue = (click.style(text, fg=colour) for text, colour in parts)
    assert line == f"{green}[{red}]|{blue}"


def test_ctrl_c_ends_with_130(
    run: Run, generate: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any, **settings: Any) -> Any:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("reference.speculative.speculative_blocks", interrupted)
    result = run(*generate)
    assert result.exit_code == 130
    assert result.stderr.strip() == "Interrupted."


def test_nan_logits_are_named(run: Run) -> None:
    result = run("generate", "--target", "nan", *PAIR[2:], "--prompt", "a b")
    assert result.exit_code == 2
    assert "nan returned NaN or infinite logits at position" in result.stderr.splitlines()[-1]


def test_json_is_one_object_even_with_show(run: Run, generate: list[str]) -> None:
    json.loads(run(*generate, "--show", "--json").stdout)


def test_every_option_has_a_help_text() -> None:
    options = [option for option in generate_command.params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []


ASKED = ("generate", "--target", "target", "--draft", "draft", "--prompt", "import sys, os")
BRIEF = ("--max-new-tokens", "8", "--decoder", "beam")


def test_wider_drafts_and_longer_ones_change_calls_alone(run_json: RunJson) -> None:
    results = [
        run_json(*ASKED, *BRIEF, "--beams", "2", "--draft-beams", wide, "--gamma", gamma)
        for wide, gamma in (("2", "1"), ("4", "3"), ("8", "5"))
    ]
    for result in results:
        assert set(result) == {"beams", "steps", "target_calls", "judged", "covered", "blocks"}
        assert [set(beam) for beam in result["beams"]] == [{"text", "tokens", "score"}] * 2
        assert result["steps"] == sum(block["steps"] for block in result["blocks"])
        assert result["covered"] <= result["judged"]
        assert result["target_calls"] == len(result["blocks"])
        assert [beam["tokens"] for beam in result["beams"]] == [
            beam["tokens"] for beam in results[0]["beams"]
        ]
    perfect = run_json(*ASKED[:3], "--draft", "target", *ASKED[5:], *BRIEF, "--beams", "2")
    for one, other in zip(perfect["beams"], results[0]["beams"], strict=True):
        assert one["tokens"] == other["tokens"]
        assert one["score"] == pytest.approx(other["score"], abs=1e-4)
    assert perfect["target_calls"] == -(-perfect["steps"] // 5)
    assert perfect["covered"] == perfect["judged"]


def test_text_has_a_line_a_beam_and_says_how_often_the_draft_sufficed(run: Run) -> None:
    result = run(*ASKED, *BRIEF, "--beams", "3")
    assert result.exit_code == 0, result.output
    assert len([line for line in result.stdout.splitlines() if line]) == 3
    assert "the draft's 6 beams held the target's 3 at" in " ".join(result.stderr.split())
