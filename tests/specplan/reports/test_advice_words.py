"""Sentences of advice agree with the probability that they print."""

import re
from dataclasses import replace

import numpy as np
import pytest

from simulator.acceptance.acceptance import Iid
from simulator.choice.odds import certainty
from simulator.choice.plan import Plan, plan
from simulator.cost.cost import Ratio
from specplan.reports.advice import decision_lines, odds_text
from specplan.reports.flags import marked


def planned(probability: float) -> Plan:
    """Returns a plan of an acceptance in doubt, with that probability of a gain."""
    found = plan(Iid(0.7), Ratio(0.1), max_gamma=4, doubt=lambda gammas: 0.01 * np.eye(len(gammas)))
    return replace(found, advice=replace(found.advice, gain_probability=probability))


@pytest.mark.parametrize("percent", [0, 39, 40, 74, 75, 94, 95, 100])
@pytest.mark.parametrize("rounding", [-0.0049, 0.0, 0.0049])
def test_words_and_percentages_agree_at_every_threshold(percent: int, rounding: float) -> None:
    probability = min(max(percent / 100 + rounding, 0.0), 1.0)
    found, words = planned(probability), certainty(probability)
    sentence = odds_text(found)
    assert words in sentence.lower()
    printed = int(re.findall(r"(\d+) %", sentence)[0])
    printed = 100 - printed if words == "a loss is likelier" else printed
    assert certainty(printed / 100) == words
    assert abs(printed / 100 - probability) < 0.01 or probability in (0, 1)
    assert not re.search(r"\b(0|100) %", sentence)
    assert sentence in decision_lines(found)
    assert sentence in marked("--flags", [found])
