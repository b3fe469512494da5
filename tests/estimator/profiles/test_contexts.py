"""Acceptance by context, from texts whose acceptance changes at a known context."""

import numpy as np
import pytest

from estimator.profiles import contexts
from estimator.profiles.contexts import at_contexts, doublings
from estimator.profiles.workloads import draft_acceptance
from estimator.traces.traces import Trace
from simulator.acceptance.tokens import expected_tokens

HIGH, LOW = 0.8, 0.3
PROMPTS = (20, 40, 60, 80)


def text(prompt: int, *, end: int = 1024, drafted: int | None = None) -> Trace:
    """Returns a text that is accepted with HIGH below context 256, and with LOW from there on."""
    rates = np.where(np.arange(prompt, end) < 256, HIGH, LOW)
    most = None if drafted is None else np.full(len(rates), drafted)
    return Trace(rates, rates, most, len(rates))


TEXTS = [text(prompt) for prompt in PROMPTS]


def test_each_context_has_the_acceptance_of_its_own_blocks() -> None:
    first, *middle, last = at_contexts(TEXTS, PROMPTS, 4)
    assert (first.first, last.last) == (20, 1023)
    assert [part.last + 1 for part in (first, *middle)] == [part.first for part in (*middle, last)]
    assert first.alpha.value == pytest.approx(HIGH)
    assert last.alpha.value == pytest.approx(LOW)
    for gamma in (1, 2, 4):
        # A block that the text's end cuts short would yield fewer tokens.
        expected = expected_tokens(LOW, gamma)
        assert 1 / sum(last.blocks[gamma]) == pytest.approx(expected, rel=1e-9)
        tokens = 1 / sum(first.blocks[gamma])
        assert tokens == pytest.approx(expected_tokens(HIGH, gamma), rel=1e-9)
        assert last.blocks[gamma][:-1] == pytest.approx([0] * gamma)


def test_shorter_drafts_are_counted_as_such() -> None:
    last = at_contexts([text(prompt, drafted=2) for prompt in PROMPTS], PROMPTS, 4)[-1]
    assert last.blocks[4] == pytest.approx((0, 0, 1 / expected_tokens(LOW, 2), 0, 0))


def test_ranges_have_enough_tokens_of_several_prompts() -> None:
    lengths = [np.arange(prompt, 1024) for prompt in PROMPTS]
    ranges = doublings(lengths)
    assert ranges == [(0, 127), (128, 255), (256, 511), (512, 1023)]
    for first, last in ranges:
        inside = sum(int(((first <= places) & (places <= last)).sum()) for places in lengths)
        assert inside >= contexts.LEAST_TOKENS
    # A single prompt beyond 200 tokens gives no range.
    single = [np.arange(100, 200), np.arange(100, 200), np.arange(100, 1024)]
    assert doublings(single) == [(0, 1023)]
    assert at_contexts([text(100, end=200)] * 2, [100, 100], 2) == ()


def test_a_profile_gives_the_acceptance_at_a_context() -> None:
    acceptance = draft_acceptance(TEXTS, 4, 4, prompts=PROMPTS).acceptance
    near, far = acceptance.at_context(64), acceptance.at_context(720)
    assert float(near.tokens_per_call(3)) == pytest.approx(expected_tokens(HIGH, 3), rel=1e-6)
    assert float(far.tokens_per_call(3)) == pytest.approx(expected_tokens(LOW, 3), rel=1e-6)
    between = acceptance.at_context(260)
    assert LOW < between.alpha < HIGH
    assert far.alpha < float(acceptance.alpha) < near.alpha
    assert not far.source.notes
    [note] = acceptance.at_context(64_000).source.notes
    assert note.startswith("Acceptance was measured at contexts around ")
    assert acceptance.at_context(64_000) == acceptance.at_context(1023)
