"""Probabilities in words and in per cent."""

import re

import pytest

from simulator.choice.odds import certainty, gain_text, percentage


@pytest.mark.parametrize(
    ("probability", "words"),
    [(1.0, "almost certain"), (0.95, "almost certain"), (0.9499, "likely"), (0.75, "likely"),
     (0.7499, "undecided"), (0.4, "undecided"), (0.3999, "a loss is likelier"),
     (0.0, "a loss is likelier")],
)  # fmt: skip
def test_words_follow_the_probability(probability: float, words: str) -> None:
    assert certainty(probability) == words
    shown = int(re.findall(r"\d+", percentage(probability))[0])
    assert certainty(shown / 100) == words
    assert abs(shown - 100 * probability) < 1 or probability in (0, 1)


def test_percentages_are_never_0_or_100() -> None:
    """An estimate proves nothing: the ends are open, in ranges, too."""
    assert percentage(1.0) == percentage(0.9951) == "over 99 %"
    assert percentage(0.0) == percentage(0.0049) == "under 1 %"
    assert (percentage(0.9949), percentage(0.0051)) == ("99 %", "1 %")
    assert percentage(0.734, 0.6, 0.65) == "60 to 73 %"
    assert percentage(0.7, 0.702) == "70 %"
    assert percentage(0.0, 1.0) == "under 1 to over 99 %"
    assert gain_text(0.0) == "A loss is likelier (over 99 %)."
    assert gain_text(0.3951) == "A loss is likelier (61 %)."
    assert gain_text(0.9951) == "A gain over no speculation is almost certain (over 99 %)."
    assert percentage(None) == percentage(0.3, None) == "-"
