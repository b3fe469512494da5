"""Groups of prompts by category and context, and the numbers of each group."""

from dataclasses import replace

import numpy as np
import pytest

from estimator.profiles.profile import Workload
from estimator.profiles.workloads import (
    accepted_by_position,
    by_category,
    by_context,
    measured_alpha,
    speed_ups,
    workloads,
)
from estimator.timing.rates import AGAIN, BASELINE, PROBE, Timed, of_prompts
from estimator.traces.traces import Trace, block_efficiency
from reference.records import Block, Generation

GAMMAS = (1, 2)
LENGTH = 12


def test_categories_keep_the_order_they_come_in() -> None:
    found = by_category(["qa", None, "code", "qa"])
    assert list(found.items()) == [("qa", [0, 3]), ("code", [2])]
    assert by_category([None, None]) == {}


def test_contexts_are_octaves_of_tokens() -> None:
    found = by_context([[0] * length for length in (64, 1, 127, 128, 3, 2)])
    assert list(found.items()) == [
        ("1-1", [1]), ("2-3", [4, 5]), ("64-127", [0, 2]), ("128-255", [3])
    ]  # fmt: skip


def trace(acceptance: float) -> Trace:
    values = np.full(LENGTH, acceptance)
    return Trace(values, values, None, LENGTH)


def generation(gamma: int, milliseconds: float) -> Generation:
    """Returns a text whose blocks draft gamma tokens, all of them rejected."""
    block = Block(
        gamma=gamma,
        drafted=(7,) * gamma,
        tokens=(3,),
        accepted=0,
        draft_seconds=gamma * milliseconds / 1e4,
        verify_seconds=(1 + gamma / 10) * milliseconds / 1e3,
        other_seconds=milliseconds / 1e5,
        ending=None,
    )
    return Generation((3,) * LENGTH, (block,) * LENGTH, milliseconds / 1e3)


def timed(milliseconds: list[float]) -> Timed:
    """Returns the runs of prompts whose target steps take these times."""
    arms = {BASELINE: 0, AGAIN: 0, **{f"{PROBE}{gamma}": gamma for gamma in GAMMAS}}
    return {arm: [generation(gamma, ms) for ms in milliseconds] for arm, gamma in arms.items()}


def workload(traces: list[Trace], texts: Timed, prompts: list[int]) -> Workload:
    return workloads(traces, texts, {"some": prompts}, gammas=GAMMAS)["some"]


TRACES = [trace(0.9), trace(0.05), trace(0.8), trace(0.1)]
TEXTS = timed([1.0, 5.0, 1.1, 6.0])


def test_a_workload_is_what_its_own_prompts_give() -> None:
    chosen = [0, 2]
    found = workload(TRACES, TEXTS, chosen)
    own = [TRACES[prompt] for prompt in chosen]
    assert found.alpha == measured_alpha(own)
    gained = speed_ups(own, of_prompts(TEXTS, chosen), GAMMAS)
    assert found.optimal_gamma == gained.best == 2
    assert found.improvement_factor == gained.factors
    for gamma in GAMMAS:
        assert found.tokens_per_call[gamma].value == pytest.approx(block_efficiency(own, gamma))
        for number in (found.tokens_per_call[gamma], found.improvement_factor[gamma]):
            assert number.low is not None
            assert number.high is not None
            assert number.low < number.value < number.high


def test_rates_by_position_are_of_blocks_of_the_longest_timed_gamma() -> None:
    found = workload(TRACES, TEXTS, [0, 2])
    rates = [share.value for share in found.accepted_by_position]
    assert len(rates) == max(GAMMAS)
    assert rates == sorted(rates, reverse=True)
    assert 1 + sum(rates) == pytest.approx(found.tokens_per_call[max(GAMMAS)].value)
    for share in found.accepted_by_position:
        assert share.low is not None
        assert share.high is not None
        assert share.low < share.value < share.high


def test_rates_near_the_ends_of_texts_never_rise() -> None:
    """Blocks that a text's end cuts short count, too: shares over the longer ones could rise."""
    short = [Trace(np.full(n, 0.9), np.full(n, 0.9), None, n) for n in (2, 3, 5, 9)]
    rates = [share.value for share in accepted_by_position(short, 8)]
    assert rates == sorted(rates, reverse=True)
    assert 1 + sum(rates) == pytest.approx(block_efficiency(short, 8))
    [first, *_] = accepted_by_position([TRACES[1]], 4)
    assert (first.low, first.high) == (None, None)
    # A text of two tokens drafts one: no block reaches a second position.
    ends = Trace(np.ones(2), np.ones(2), None, 2)
    assert [share.value for share in accepted_by_position([ends, ends], 4)] == [1.0]


def test_other_prompts_change_nothing() -> None:
    found = workload(TRACES, TEXTS, [1, 3])
    changed = [replace(TRACES[0], beta=TRACES[1].beta), *TRACES[1:]]
    others = timed([9.0, 5.0, 9.0, 6.0])
    assert workload(changed, others, [1, 3]) == found
    assert found.optimal_gamma == 0


def test_a_single_prompt_has_no_interval() -> None:
    found = workload(TRACES, TEXTS, [0])
    for number in (found.tokens_per_call[1], found.improvement_factor[1], found.alpha):
        assert (number.low, number.high) == (None, None)
