"""Prompts from files and from the library's held-out sources."""

from pathlib import Path

import pytest

from estimator.prompts import embedded_prompts, encode_prompts, prompts_hash, read_prompts
from reference.models.embedded import held_out, library_files


class Letters:
    """A tokenizer of one token a character."""

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": [ord(letter) for letter in text]}


@pytest.mark.parametrize(
    ("name", "content", "prompts"),
    [
        ("a.txt", "one\n\ntwo three\n", ["one", "two three"]),
        ("a.jsonl", '{"prompt": "x"}\n\n{"text": "y"}\n', ["x", "y"]),
        ("a.jsonl", '{"turns": ["first", "second"], "category": "qa"}\n', ["first"]),
    ],
)
def test_prompts_of_a_file(tmp_path: Path, name: str, content: str, prompts: list[str]) -> None:
    (tmp_path / name).write_text(content)
    assert read_prompts(str(tmp_path / name)) == prompts


def test_a_folder_and_a_glob_give_one_prompt_a_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.py").write_text("b\nb")
    (tmp_path / "sub" / "a.py").write_text("a")
    assert read_prompts(str(tmp_path)) == ["b\nb", "a"]
    assert read_prompts(str(tmp_path / "*.py")) == ["b\nb"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "at least one prompt, got none"),
        ("a.txt", "\n \n", "at least one prompt, got none"),
        ("a.jsonl", "{", "line 1 must be JSON"),
        ("a.jsonl", '{"question": "x"}', "must have a field prompt, text, turns"),
        ("a.jsonl", '{"prompt": 3}', "field prompt must be text, got int"),
        ("a.jsonl", '{"prompt": " "}', "must not be empty"),
        ("a.jsonl", '{"turns": []}', "field turns must be text, got list"),
    ],
)
def test_unusable_prompts_are_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_prompts(str(tmp_path / name))


def test_a_missing_file_is_refused() -> None:
    with pytest.raises(ValueError, match="existing file, folder or glob, got nowhere"):
        read_prompts("nowhere")


def test_bytes_that_are_not_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ValueError, match="readable UTF-8"):
        read_prompts(str(tmp_path / "a.txt"))


def test_prompts_are_cut_to_their_first_tokens() -> None:
    assert encode_prompts(["abc", "d", "e"], Letters(), count=2, prompt_tokens=2) == [
        [97, 98],
        [100],
    ]


def test_a_prompt_without_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one token, got none in prompt 2"):
        encode_prompts(["a", ""], Letters(), count=2, prompt_tokens=None)


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
