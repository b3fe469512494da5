"""Texts of which each prompt has a part decoded, which give prices of the whole length."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from estimator.timing.arms import probing, run_arms, without_draft
from estimator.timing.batched import Ids, Prompts
from estimator.timing.precision import Timing, precision_percent
from estimator.timing.rates import AGAIN, BASELINE, Runs, both_baselines, priced, timed
from estimator.timing.text_parts import LEAST_TOKENS, in_parts, text_parts
from reference.records import Generation
from reference.speculative import Subject
from tests.estimator.pairs import tiny_subject

PROMPTS = [[number, 1, 2, 3][: 2 + number % 3] for number in range(6)]
TOKENS = 3 * LEAST_TOKENS
TEXTS = [tuple((number + at) % 40 for at in range(TOKENS)) for number in range(6)]


def test_parts_cover_the_whole_length_after_prompts_of_all_lengths() -> None:
    parts = text_parts(tiny_subject().target, PROMPTS, TEXTS)
    by_length = sorted(range(6), key=lambda number: len(PROMPTS[number]))
    read = [parts[tuple(PROMPTS[number])][0] for number in by_length]
    assert [len(ids) for ids in read] == [0, 16, 32, 0, 16, 32]
    assert read[2] == TEXTS[by_length[2]][:32]
    assert {tokens for _, tokens in parts.values()} == {LEAST_TOKENS}


def test_few_prompts_and_short_texts_have_fewer_parts() -> None:
    target = tiny_subject().target
    two = text_parts(target, PROMPTS[:2], TEXTS[:2])
    assert [(len(read), tokens) for read, tokens in two.values()] == [(0, 24), (24, 24)]
    shorter = [text[: TOKENS - 1] for text in TEXTS]
    parts = text_parts(target, PROMPTS, shorter).values()
    assert sorted({(len(read), tokens) for read, tokens in parts}) == [(0, 23), (23, 24)]


@pytest.mark.parametrize(
    ("prompts", "texts"),
    [(1, TEXTS), (6, [text[: 2 * LEAST_TOKENS - 1] for text in TEXTS]), (6, [None] * 6)],
)
def test_a_single_prompt_and_short_or_unknown_texts_are_decoded_whole(
    prompts: int, texts: list[tuple[int, ...] | None]
) -> None:
    target = tiny_subject().target
    assert text_parts(target, PROMPTS[:prompts], texts[:prompts]) == {}
    [[text]] = run_parts(tiny_subject(tokens=4), PROMPTS[:1], [None])[BASELINE]
    assert len(text.tokens) == 4


def test_an_encoder_decoder_decodes_whole_texts() -> None:
    target: Any = SimpleNamespace(beginning=lambda prompt: [0])
    assert text_parts(target, PROMPTS, TEXTS) == {}


def run_parts(subject: Subject, prompts: Prompts, texts: Sequence[Ids | None]) -> Runs:
    parts = text_parts(subject.target, prompts, texts)
    decoders = {BASELINE: without_draft, AGAIN: without_draft, **probing([1, 6])}
    return run_arms(subject, prompts, in_parts(decoders, parts), Timing(), least=len(prompts))


def test_all_decoders_of_a_prompt_decode_its_part_with_full_drafts() -> None:
    subject = tiny_subject(tokens=TOKENS)
    runs = run_parts(subject, PROMPTS, TEXTS)
    parts = text_parts(subject.target, PROMPTS, TEXTS)
    for number, prompt in enumerate(PROMPTS):
        read, tokens = parts[tuple(prompt)]
        for arm, rows in runs.items():
            [text] = rows[number]
            assert text.text == (*prompt, *read)
            *before, last = text.blocks
            assert sum(len(block.tokens) for block in before) < tokens <= len(text.tokens)
            assert last.ending == "length"
            assert not any(block.ending for block in before)
            if arm == "probe 6" and len(read) + tokens < TOKENS:
                assert {len(block.drafted) for block in text.blocks} == {6}


def test_the_same_seed_gives_the_same_texts() -> None:
    first, second = (timed(run_parts(tiny_subject(tokens=TOKENS), PROMPTS, TEXTS)) for _ in "12")
    for arm, rows in first.items():
        assert [text.tokens for text in rows] == [text.tokens for text in second[arm]]


def test_prices_without_a_measured_speed_up_use_both_baselines() -> None:
    texts = timed(run_parts(tiny_subject(tokens=TOKENS), PROMPTS, TEXTS))

    def taking(text: Generation, seconds: float) -> Generation:
        times = {"draft_seconds": 0.0, "verify_seconds": seconds, "other_seconds": 0.0}
        return replace(text, blocks=tuple(replace(block, **times) for block in text.blocks))

    steps = zip((1.0, 3.0, 4.0, 5.0), texts.items(), strict=True)
    slower = {arm: [taking(text, step) for text in rows] for step, (arm, rows) in steps}
    assert priced(slower).step_seconds == 3.0
    assert priced(both_baselines(slower)).step_seconds == pytest.approx(2.0)
    assert precision_percent(slower) == pytest.approx(0.0, abs=1e-9)
