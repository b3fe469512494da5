"""Sentences of `specplan size`: how much is saved, and how many GPUs suffice."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from simulator.choice.odds import percentage
from simulator.traffic.counted import ENOUGH
from simulator.traffic.fleet import Fleet
from simulator.traffic.saved import Saved
from specplan.reports.sizing_words import enough, promises, sentence
from tests.specplan.commands.test_size_command import by_python

pytestmark = pytest.mark.usefixtures("few_requests")


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        (Saved(3, 1, 4, 1.0), "over 99 % {needed} (90 %: 1 to 4 fewer)."),
        (Saved(1, -8, 4, 0.65), "65 % {needed} (90 %: -8 to 4 fewer)."),
        (Saved(3, 0, inf, 0.9), "90 % {needed} (90 %: at least 0 fewer)."),
        (Saved(3, inf, inf, 1.0), "over 99 % {needed} (90 %: more than {most} without)."),
    ],
)
def test_a_saving_has_its_interval_and_its_probability(saved: Saved, words: str) -> None:
    sizing = by_python()
    assert sizing.best_without is not None
    needed = "fewer GPUs are needed with speculation than without"
    known = words.format(needed=needed, most=sizing.best_without.most_drawn)
    assert f"With a probability of {known}" in promises(replace(sizing, saved=saved))
    assert not any(needed in line for line in promises(replace(sizing, saved=Saved(3))))


def test_the_answer_says_how_likely_its_gpus_are_enough_and_how_many_more_others_take() -> None:
    """Costs of the roofline with EAGLE-3 on one GPU: drafts suffice surely, and nothing else."""
    sizing = by_python()
    best, plain = sizing.best, sizing.best_without
    assert best is not None
    assert plain is not None
    chances = [np.mean(fleet.drawn_gpus <= fleet.gpus) for fleet in (best, plain)]
    assert chances[1] < ENOUGH <= chances[0]
    fleets = (f"{fleet.gpus}{name} ({fleet.gpus} replicas of TP 1)"
              for fleet, name in ((best, " H100-SXM"), (plain, "")))  # fmt: skip
    taken, without = fleets
    known, less = (round(100 * chance) for chance in chances)
    assert sentence(sizing) == (
        f"Take {taken} with small and K = 4 for 40 requests/s: enough with a probability of "
        f"{known} %, which no run shows yet. Without speculation {without} are enough "
        f"with only {less} %."
    )
    exact = replace(plain.replica, doubt=lambda: None)
    for fewer, words in ((2, ": 2 GPUs more."), (1, ": 1 GPU more."), (0, ", as many.")):
        other = Fleet(exact, 0, best.gpus + fewer, plain.goal)
        named = f" Without speculation it takes {other.gpus} ({other.gpus} replicas of TP 1)"
        assert sentence(replace(sizing, best_without=other)).endswith(named + words)


def test_the_rule_is_said_with_the_probabilities_of_a_replica_less_and_more() -> None:
    sizing = by_python()
    best = sizing.best
    assert best is not None
    (rule,) = (line for line in promises(sizing) if line.startswith("Rule: "))
    less, more = (np.mean(best.drawn_gpus <= best.gpus + step) for step in (-1, 1))
    assert less < ENOUGH
    assert "with a probability of at least 80 %. That is right where a shortage costs 4 " in rule
    others = f"{best.gpus - 1} with {percentage(less)}, {best.gpus + 1} with {percentage(more)}."
    assert rule.endswith(f" Other numbers: {others}")


def test_less_than_the_rule_is_never_rounded_to_it() -> None:
    assert [enough(chance) for chance in (0.7951, 0.7999, 0.8, None)] == [
        "79 %",
        "79 %",
        "80 %",
        "",
    ]


@pytest.mark.parametrize(("probability", "undecided"), [(0.5, True), (0.9, False)])
def test_flags_of_a_draft_wait_for_a_run(probability: float, undecided: bool) -> None:
    sizing = replace(by_python(), saved=Saved(1, -1, 2, probability))
    assert sizing.best is not None
    known = replace(sizing.best.replica.pair, calibrated=True)
    replica = replace(sizing.best.replica, pair=known)
    sizing = replace(sizing, best=replace(sizing.best, replica=replica, gamma=3))
    flags = sizing.flags("vllm")
    first = "K = 3 and K = 0 first"
    assert sentence(sizing).startswith(f"Undecided: run {first}. ") == undecided
    assert "# Not run yet: run K = 3, and K = 0 without the draft's line, " in flags
    assert all(line.startswith("#") for line in flags.splitlines())
    assert "\n# --tensor-parallel-size" in flags


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
