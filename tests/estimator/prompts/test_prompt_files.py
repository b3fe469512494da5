"""Prompts as files have them, as ids, and from the library's held-out sources."""

import json
from pathlib import Path

import pytest

from estimator.progress import Notice
from estimator.prompts.files import Prompt, read_prompts
from estimator.prompts.prompts import embedded_prompts, encoded_prompts, prompts_hash
from estimator.settings import PromptSettings
from reference.models.embedded import held_out, library_files


def texts(source: Path) -> list[str]:
    return [prompt.text for prompt in read_prompts(str(source))]


CHAT = {"role": "user", "content": "why?"}


@pytest.mark.parametrize(
    ("name", "content", "prompts"),
    [
        ("a.txt", "one\n\ntwo three\r\n", ["one", "two three"]),
        ("a.jsonl", '{"prompt": "x"}\n\n{"text": "y"}\n', ["x", "y"]),
        ("a.ndjson", '{"prompt": "x"}\n"y"\n', ["x", "y"]),
        ("a.jsonl", '{"turns": ["first", "second"]}\n', ["first"]),
        ("a.json", '[{"prompt": "x"},\n {"turns": ["y", "z"]}, "w"]', ["x", "y", "w"]),
        ("a.json", '{"prompt": "x"}', ["x"]),
        ("a.jsonl", "\ufeff" + '{"prompt": "x"}', ["x"]),
        # Characters at which `splitlines` would split.
        ("a.txt", "one\u2028two\x85three\x0cfour\n", ["one\u2028two\x85three\x0cfour"]),
        ("a.jsonl", '{"prompt": "a\u2028b\x85c"}\n', ["a\u2028b\x85c"]),
        ("a.jsonl", json.dumps({"messages": [{"role": "system", "content": "s"}, CHAT]}),
         ["why?"]),
        ("a.json", json.dumps([{"messages": [{"role": "user", "content": [
            {"type": "text", "text": "what is"}, {"type": "image_url", "image_url": {}},
            {"type": "text", "text": "this?"}]}]}]), ["what is\nthis?"]),
        ("a.json", json.dumps([{"id": "1", "conversations": [
            {"from": "system", "value": "s"}, {"from": "human", "value": "hi"},
            {"from": "gpt", "value": "hello"}]}]), ["hi"]),
    ],
)  # fmt: skip
def test_prompts_of_a_file(tmp_path: Path, name: str, content: str, prompts: list[str]) -> None:
    (tmp_path / name).write_bytes(content.encode())
    assert texts(tmp_path / name) == prompts


def test_a_category_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"turns": ["first"], "category": "qa"}\n{"prompt": "x", "category": null}')
    assert read_prompts(str(path)) == [Prompt("first", "qa"), Prompt("x")]


def test_a_folder_and_a_glob_give_one_prompt_a_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.py").write_text("b\nb")
    (tmp_path / "sub" / "a.py").write_text("a")
    assert texts(tmp_path) == ["b\nb", "a"]
    assert texts(tmp_path / "*.py") == ["b\nb"]


@pytest.mark.parametrize("pattern", ["", "**/*"])
def test_lines_without_text_are_left_out_with_a_notice(tmp_path: Path, pattern: str) -> None:
    for folder in (".git", "__pycache__"):
        (tmp_path / folder).mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref")
    (tmp_path / "a.py").write_text("a")
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"\xcb\r\r\n\0")
    (tmp_path / "__init__.py").write_text("\n")
    (tmp_path / "zeros").write_bytes(b"a\0b")
    told = f"^left out as no text: {tmp_path}/__init__.py and 2 more$"
    with pytest.warns(Notice, match=told):
        found = read_prompts(str(tmp_path / pattern) if pattern else str(tmp_path))
    assert found == [Prompt("a")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "at least one prompt, got none"),
        ("a.txt", "\n \n", "at least one prompt, got none"),
        ("a.json", "[]", "at least one prompt, got none"),
        ("a.jsonl", "{", "line 1 must be JSON"),
        ("a.ndjson", "\n{", "line 2 must be JSON"),
        ("a.json", "{", "a.json must be JSON"),
        ("a.json", "[" * 100_000, "a.json must be JSON"),
        ("a.json", "[3]", "item 1 must be text or a record, got int"),
        ("a.jsonl", '{"question": "x"}', "must have a field prompt, text, turns, messages, conver"),
        ("a.jsonl", '{"prompt": 3}', "field prompt must be text, got int"),
        ("a.jsonl", '{"prompt": "x"}\n{"prompt": " "}', "must not be empty.*a.jsonl line 2"),
        ("a.jsonl", '{"turns": []}', "field turns must be text, got list"),
        ("a.jsonl", '{"prompt": "x", "category": 3}', "field category must be text, got int"),
        ("a.jsonl", '{"messages": "x"}', "field messages must be a list, got str"),
        ("a.jsonl", '{"messages": [{"role": "system", "content": "x"}]}',
         "must have a message whose role is user or human, got none"),
        ("a.jsonl", '{"messages": [{"role": "user"}]}', "field messages must be text, got NoneTyp"),
        ("a.jsonl", '{"prompt": "ab\\ud83d"}', "line 1: a prompt must be whole Unicode characters, "
         r"got the lone surrogate U\+D83D at character 3"),
    ],
)  # fmt: skip
def test_unusable_prompts_are_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_prompts(str(tmp_path / name))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere", "existing file, folder or glob, got nowhere"),
        (".", "at least one prompt, got none in"),
        ("a.txt", "readable UTF-8"),
    ],
)
def test_a_source_without_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\xfa")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        read_prompts(source)


class Letters:
    """A tokenizer of one token a character."""

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": [ord(letter) for letter in text]}


def test_prompts_are_cut_to_their_first_tokens() -> None:
    cut = PromptSettings(prompt_tokens=2)
    prompts = [Prompt("abc"), Prompt("d")]
    assert encoded_prompts(prompts, Letters(), cut, "target") == [[97, 98], [100]]


def test_a_prompt_without_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one token, got none in prompt 2"):
        encoded_prompts([Prompt("a"), Prompt("")], Letters(), PromptSettings(), "target")


def test_embedded_prompts_are_held_out_definitions() -> None:
    prompts = embedded_prompts(Letters(), count=5, prompt_tokens=30)
    assert len(prompts) == 5
    held = [path.read_text(encoding="utf-8", errors="replace") for path in library_files(True)]
    for prompt in prompts:
        text = "".join(map(chr, prompt))
        assert len(prompt) == 30
        assert text.startswith(("def ", "class "))
        assert any(text in source for source in held)


def test_held_out_and_training_files_are_disjoint() -> None:
    training, held = library_files(held=False), library_files(held=True)
    assert not set(training) & set(held)
    assert 0.02 < len(held) / len(training) < 0.15
    assert held_out("enum.py")
    assert not held_out("typing.py")


def test_the_hash_tells_prompts_apart() -> None:
    assert prompts_hash([[1, 2]]) == prompts_hash([(1, 2)])
    assert prompts_hash([[1, 2]]) != prompts_hash([[1], [2]])
