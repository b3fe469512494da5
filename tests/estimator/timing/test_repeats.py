"""Repeats of one text, and the noise of the baseline against itself."""

import math
from dataclasses import replace

import pytest

from estimator.timing.rates import (
    PARTS,
    Noise,
    measured_interval,
    measured_left_out,
    median,
    noise,
    of_prompts,
    out_of_order,
)
from reference.records import Block, Generation

BLOCK = Block(2, (5, 6), (5, 7), 1, 0.1, 0.2, 0.05, None)
OTHER = replace(BLOCK, drafted=(8, 9), tokens=(1,), accepted=0)


def run(*scales: float, prefill: float = 1.0) -> Generation:
    """Returns two kinds of blocks in turn, whose times are those multiples."""
    blocks = [
        replace(kind, **{part: scale * getattr(kind, part) for part in PARTS})
        for kind, scale in zip([BLOCK, OTHER] * len(scales), scales, strict=False)
    ]
    return Generation((0,), tuple(blocks), prefill)


def test_each_block_counts_by_the_median_of_its_repeats() -> None:
    slow = [run(1, 3, 1, prefill=1.5), run(2, 2, 2, prefill=2.0), run(5, 4, 0.5, prefill=3.0)]
    assert median(slow) == run(2, 3, 1, prefill=2.0)
    assert median([slow[1]]) == slow[1]


def test_a_repeat_that_took_another_way_is_left_out() -> None:
    first = run(2, 2)
    longer = run(1, 1, 1)
    other = replace(first, blocks=(replace(BLOCK, tokens=(5, 9)), run(1, 1).blocks[1]))
    assert median([first, longer, other, run(3, 1), run(7, 1)]) == run(3, 1)


def decoded(seconds: float, tokens: int) -> Generation:
    block = replace(
        BLOCK, tokens=(1,), draft_seconds=0.0, verify_seconds=seconds, other_seconds=0.0
    )
    return Generation((0,), (block,) * tokens, 0.0)


def test_a_speed_up_is_that_of_all_seconds_and_leaves_out_one_prompt_after_another() -> None:
    """Seconds of the arm's texts: 6 each; at the baseline's speed: 9, 9 and 12."""
    texts = {
        "baseline": [decoded(s, n) for s, n in ((1.5, 4), (3.0, 2), (1.0, 8))],
        "gamma 2": [decoded(s, n) for s, n in ((1.0, 6), (2.0, 3), (0.5, 12))],
    }
    assert measured_left_out(texts, "gamma 2") == pytest.approx((21 / 12, 21 / 12, 18 / 12))
    # Their standard error is 1/6. Student's t of 2 degrees of freedom reaches 2.919986 of them.
    reach = 2.919986 / 6 / (5 / 3)
    low, high = measured_interval(texts, "gamma 2")
    assert low == pytest.approx(5 / 3 * math.exp(-reach))
    assert high == pytest.approx(5 / 3 * math.exp(reach))
    assert measured_left_out(of_prompts(texts, [0, 2]), "gamma 2") == (2.0, 1.5)
    assert measured_left_out(of_prompts(texts, [0]), "gamma 2") == ()


def drafting(gamma: int, *seconds: float) -> list[Generation]:
    """Returns a text for each prompt, of blocks of that draft length that take so many seconds."""
    texts = [decoded(step, 3).blocks for step in seconds]
    return [
        Generation((0,), tuple(replace(b, drafted=(5,) * gamma) for b in blocks), 0.0)
        for blocks in texts
    ]


def test_a_faster_step_of_a_longer_draft_is_named_where_prompts_agree() -> None:
    texts = {"again": drafting(0, 0.009, 0.009), "probe 1": drafting(1, 0.010, 0.010)}
    agreed = texts | {"probe 2": drafting(2, 0.008, 0.008)}
    sentence = "a step takes 8.00 ms at gamma 2 and 10.00 at gamma 1"
    assert out_of_order(agreed, [1, 2]) == {1: sentence, 2: sentence}
    assert out_of_order(texts | {"probe 2": drafting(2, 0.006, 0.012)}, [1, 2]) == {}


def test_the_noise_is_how_far_prompts_differ_from_no_difference() -> None:
    """Prompts have equal weights, independent of their texts' lengths."""
    texts = {
        "baseline": [decoded(s, n) for s, n in ((1.1, 3), (1.0, 5), (0.9, 4))],
        "again": [decoded(s, n) for s, n in ((1.0, 7), (1.0, 2), (1.0, 4))],
    }
    clock = noise(texts)
    assert clock.logarithm == pytest.approx(0, abs=1e-15)
    assert clock.error == pytest.approx(math.sqrt(0.1**2 + 0.1**2) / 3)
    assert clock.prompts == 3
    # Both a tenth slower: no scatter about the mean, but about 0.
    texts["baseline"] = [decoded(1.1, 4)] * 3
    clock = noise(texts)
    assert clock.percent == pytest.approx(100 * math.log(1.1))
    assert clock.error == pytest.approx(math.sqrt(3) * 0.1 / 3.15)


def test_a_quiet_machine_differs_from_itself_by_little() -> None:
    # Student's t of 3 degrees of freedom reaches 2.353363 standard errors.
    assert Noise(0.0, 0.01, 3).within_percent == pytest.approx(100 * math.expm1(0.02353363))
    assert Noise(0.0, 0.040, 3).quiet
    assert not Noise(0.0, 0.041, 3).quiet
    assert not Noise(-0.11, 0.001, 3).quiet
