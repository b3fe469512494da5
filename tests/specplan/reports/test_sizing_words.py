"""Sentences of `specplan size`: how much is saved, and how many GPUs suffice."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from simulator.traffic.sizing import Saved
from specplan.reports.sizing_words import sentence
from tests.specplan.commands.test_size_command import by_python

pytestmark = pytest.mark.usefixtures("few_requests")


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        (
            Saved(3, 1, 4, 1.0),
            "3 GPUs fewer (90 %: 1 to 4; some saving almost certain, over 99 %).",
        ),
        (Saved(1, -8, 4, 0.65), "1 GPU fewer (90 %: -8 to 4; some saving undecided, 65 %)."),
        (Saved(0, -2, 2, 0.45), "as many GPUs (90 %: -2 to 2 saved; some saving undecided, 45 %)."),
        (Saved(-2, -4, 0, 0.02), "2 GPUs more (90 %: -4 to 0 saved; some saving unlikely, 2 %)."),
        (
            Saved(3, 0, inf, 0.9),
            "3 GPUs fewer (90 %: 0 or more saved, as more than {most} may be needed without; "
            "some saving likely, 90 %).",
        ),
        (
            Saved(3, inf, inf, 1.0),
            "3 GPUs fewer (90 %: without speculation more than {most}; some saving almost certain, "
            "over 99 %).",
        ),
        (Saved(3), "3 GPUs fewer."),
    ],
)
def test_a_saving_has_its_interval_and_the_probability_is_of_some_saving(
    saved: Saved, words: str
) -> None:
    sizing = by_python()
    assert sizing.best_without is not None
    most = sizing.best_without.most_drawn
    assert most == min(64, 4 * sizing.best_without.gpus)
    assert sentence(replace(sizing, saved=saved)).endswith(words.format(most=most))


def test_the_answers_gpus_suffice_with_the_probability_that_the_draws_give() -> None:
    sizing = by_python()
    best = sizing.best
    assert best is not None
    assert best.drawn_gpus is not None
    sufficient = int(100 * np.mean(best.drawn_gpus <= best.gpus))
    known = f"suffice{'s' * (best.gpus == 1)} with a probability of {sufficient} %"
    for gpus, end in (
        (best.gpus, ");"),
        (best.gpus + 2, f"; buy {best.gpus + 2} for at least 90 %);"),
        (inf, f"; for at least 90 % more than {best.most_drawn} are needed);"),
    ):
        assert f" ({known}{end} without spec" in sentence(replace(sizing, gpus_at=(1, gpus)))


@pytest.mark.parametrize(("probability", "undecided"), [(0.5, True), (0.9, False)])
def test_flags_wait_for_a_run_where_a_saving_is_undecided(
    probability: float, undecided: bool
) -> None:
    sizing = replace(by_python(), saved=Saved(1, -1, 2, probability))
    assert sizing.best is not None
    known = replace(sizing.best.replica.pair, calibrated=True)
    replica = replace(sizing.best.replica, pair=known)
    sizing = replace(sizing, best=replace(sizing.best, replica=replica, gamma=3))
    flags = sizing.flags("vllm")
    first = "K = 3 and K = 0 first"
    assert sentence(sizing).startswith(f"Undecided: run {first}. ") == undecided
    assert (f"# Undecided: measure {first}, then take the # away." in flags) == undecided
    assert ("\n--speculative-config" in flags) == (not undecided)
    assert "\n--tensor-parallel-size" in flags


def test_gains_that_were_never_calibrated_need_nine_in_ten() -> None:
    sizing = replace(by_python(), saved=Saved(1, -1, 2, 0.9))
    assert sizing.best is not None
    unknown = replace(sizing.best.replica.pair, calibrated=False)
    replica = replace(sizing.best.replica, pair=unknown)
    assert replace(sizing, best=replace(sizing.best, replica=replica, gamma=3)).undecided


def test_notes_on_costs_name_the_layouts_that_they_are_of() -> None:
    sizing = by_python()
    plain = sizing.json()["notes"]
    assert sizing.best is not None
    other = replace(sizing.best.replica, tp=8, basis=("", "Another note."))
    fleets = (*sizing.candidates, replace(sizing.best, replica=other))
    noted = replace(sizing, candidates=fleets).json()["notes"]
    assert f"{other.gpu}, TP 8: Another note." in noted
    assert len(noted) == len(plain) + 1
