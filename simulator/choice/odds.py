"""Probabilities of a gain in words and in per cent."""

# Least probabilities of a gain that is "undecided", "likely", and "almost certain".
OPEN, LIKELY, SURE = 0.4, 0.75, 0.95


def certainty(probability: float) -> str:
    """Returns a phrase for the probability of a gain, for example "likely" or "undecided".

    The bounds choose words; of decisions only `advice.UNDECIDED` uses one, OPEN.
    """
    if probability >= SURE:
        return "almost certain"
    if probability >= LIKELY:
        return "likely"
    return "undecided" if probability >= OPEN else "a loss is likelier"


def gain_text(probability: float) -> str:
    """Returns the probability of a gain in words, or of a loss if that is likelier."""
    if (words := certainty(probability)) == "a loss is likelier":
        return f"A loss is likelier ({_open(100 - _whole(probability))} %)."
    return f"A gain over no speculation is {words} ({percentage(probability)})."


def percentage(*probabilities: float | None) -> str:
    """Returns probabilities in per cent: "73 %", or from the lowest to the highest, "62 to 73 %".

    A dash if one is not known. They are rounded so that `certainty` gives the same phrase, and
    never to 0 or 100: an estimate proves nothing.
    """
    known = [_whole(probability) for probability in probabilities if probability is not None]
    if len(known) < len(probabilities):
        return "-"
    return f"{' to '.join(map(_open, dict.fromkeys((min(known), max(known)))))} %"


def _whole(probability: float) -> int:
    shown = round(100 * probability)
    return shown if certainty(shown / 100) == certainty(probability) else shown - 1


def _open(percent: int) -> str:
    return {0: "under 1", 100: "over 99"}.get(percent, str(percent))
