"""Prompts as ids, and prompts from the library's held-out sources."""

import pytest

from estimator.prompts.files import Prompt
from estimator.prompts.prompts import embedded_prompts, encoded_prompts, prompts_hash
from estimator.settings import PromptSettings
from reference.models.embedded import held_out, library_files


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
