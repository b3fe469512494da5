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


def percentage(*probabilities: float) -> str:
    """Returns probabilities in per cent: "73 %", or from the lowest to the highest, "62 to 73 %".

    They are rounded so that `certainty` gives the same phrase, and never to 0 or 100: an estimate
    proves nothing.
    """
    ends = dict.fromkeys(map(_whole, (min(probabilities), max(probabilities))))
    return f"{' to '.join(map(_open, ends))} %"


def loss_percentage(probability: float) -> str:
    """Returns the probability of a loss in per cent: 100 less the percentage of a gain.

    probability: probability of a gain.
    """
    return f"{_open(100 - _whole(probability))} %"


def _whole(probability: float) -> int:
    shown = round(100 * probability)
    return shown if certainty(shown / 100) == certainty(probability) else shown - 1


def _open(percent: int) -> str:
    return {0: "under 1", 100: "over 99"}.get(percent, str(percent))
