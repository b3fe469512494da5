"""Prompts in a tokenizer's chat template."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from reference.models.huggingface import encode_chat

WORDS = ["<user>", "<answer>", "hello", "there", "?"]
TEMPLATE = (
    "{% for message in messages %}<{{ message.role }}> {{ message.content }} {% endfor %}"
    "{% if add_generation_prompt %}<answer>{% endif %}"
)


def tokenizer(template: str | None) -> PreTrainedTokenizerFast:
    tokens = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, "?"))
    tokens.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokens)
    fast.chat_template = template
    return fast


def test_a_prompt_is_a_users_message_and_the_answer_comes_next() -> None:
    assert encode_chat(tokenizer(TEMPLATE), "hello there", name="chatty") == [0, 2, 3, 1]


def test_a_tokenizer_without_a_chat_template_is_refused_by_name() -> None:
    message = "a chat needs a tokenizer with a chat template, got plain's, which has none"
    with pytest.raises(ValueError, match=message):
        encode_chat(tokenizer(None), "hello", name="plain")
