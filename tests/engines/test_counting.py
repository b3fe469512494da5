"""Counters read before and after a run: their differences, and a restart in between."""

from itertools import chain

import pytest

from engines.counting import Counts
from engines.engine import Completion, EngineRun
from engines.observing.printed import MetricsPage
from tests.engines.engine_pairs import run_of
from tests.engines.metrics_pages import llama_cpp_page, vllm_page


class Counting:
    """A server that writes three tokens and reports counts of one's choice."""

    version = "0"

    def __init__(self, *readings: Counts) -> None:
        self._readings = chain(readings)

    def complete(self, prompt: object, **_: object) -> Completion:
        return Completion((1, 2, 3), 1, 0.5)

    def counts(self) -> Counts:
        return next(self._readings)


def decoded(*readings: Counts) -> EngineRun:
    server = Counting(*readings)
    return run_of(server, [(1,)] * (len(readings) - 1), tokens=3)


def test_a_run_counts_the_difference_of_two_readings() -> None:
    own = decoded(Counts.of(5, 10, (3, 1)), Counts.of(6, 12, (4, 1)), Counts.of(8, 16, (5, 2)))
    assert own.counts == (Counts.of(1, 2, (1, 0)), Counts.of(2, 4, (1, 1)))
    assert own.total == Counts.of(3, 6, (2, 1))
    # Two tokens after the first: without an accepted one both take a pass, with one only one.
    assert own.work(drafts_past_end=False) == [(0.5, 1, 2), (0.5, 0, 2)]


def test_a_restart_in_a_run_is_noticed() -> None:
    with pytest.raises(ValueError, match=r"counters must not fall .* got 5 drafts, then 1"):
        decoded(Counts.of(5, 10, (3, 1)), Counts.of(1, 2, (1, 0)))


def test_a_restart_is_noticed_though_the_server_has_counted_more_blocks_since() -> None:
    with pytest.raises(ValueError, match=r"counters must not fall .* got 5 drafts, then 6"):
        Counts.of(6, 12, (4, 1)).since(Counts.of(5, 10, (5, 1)))


def test_a_lookup_that_drafts_seldom_has_all_steps_and_those_that_drafted() -> None:
    """90 of 100 tokens are the target's own: as many steps, of which 43 drafted."""
    counted = Counts.of(43, 120, (6, 4)).over_all_steps(100)
    assert (counted.drafts, counted.drafting, counted.all_steps) == (90, 43, True)
    assert Counts.of(88, 120, (6, 4)).over_all_steps(100) == Counts.of(88, 120, (6, 4))


def test_runs_of_turns_are_one_run() -> None:
    first, second = (
        decoded(*[Counts.of(n, n, (0,)) for n in (0, 1)]),
        decoded(*[Counts.of(n, n, (0,)) for n in (1, 3)]),
    )
    both = first + second
    assert (both.decoded, both.total.drafts, len(both.counts)) == (4, 3, 2)


def test_pages_of_both_engines_count_alike() -> None:
    page = vllm_page(10, (6, 3)) + vllm_page(5, (2, 1), engine=1)
    assert MetricsPage(page, "vllm:").counts("x") == Counts.of(15, 30, (8, 4))
    page = llama_cpp_page(10, 19, (6,))
    assert MetricsPage(page, "llamacpp:").counts("x") == Counts.of(10, 19, (6,))


def test_a_page_without_speculation_names_the_metric_and_the_flag() -> None:
    page = "# TYPE vllm:x gauge\nvllm:x 1\n"
    message = "metrics must have vllm:spec_decode_num_drafts, got none: speculation is off; --a"
    with pytest.raises(ValueError, match=message):
        MetricsPage(page, "vllm:").counts("--a")


@pytest.mark.parametrize(
    ("drafted", "past_end", "taken"),
    # Five blocks of a text, of which γ = 3 may fall short by 2 and by 1 where they end with it.
    [
        (15, True, True),
        (14, True, False),
        (12, False, True),
        (11, False, False),
        (16, False, False),
    ],
)
def test_blocks_of_another_length_than_gamma_are_noticed(
    drafted: int, past_end: bool, taken: bool
) -> None:
    own = decoded(Counts.of(0, 0, ()), Counts.of(5, drafted, (2,)))
    assert own.obeys(3, drafts_past_end=past_end) == taken


def test_a_server_without_drafts_obeys_only_where_no_draft_had_room() -> None:
    zero = Counts.of(0, 0, ())
    run = decoded(zero, zero)
    assert run.obeys(0, drafts_past_end=False)
    assert not run.obeys(3, drafts_past_end=False)
    text = Completion((1, 2), 1, 0.1)
    assert EngineRun((text,), (zero,)).obeys(3, drafts_past_end=False)
    assert not EngineRun((text,), (zero,)).obeys(3, drafts_past_end=True)
