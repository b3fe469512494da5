"""KenLM as the oracle of back-off."""

import math
from collections.abc import Sequence
from pathlib import Path

import kenlm

from ngram.rows.backoff import BEGIN, word_name

LN10 = math.log(10)


def kenlm_model(path: Path) -> kenlm.Model:
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    return kenlm.Model(str(path), config)


def kenlm_state(model: kenlm.Model, context: Sequence[int]) -> kenlm.State:
    """Returns KenLM's state after a context, which `<s>` may begin."""
    state = kenlm.State()
    words = list(context)
    if words[:1] == [BEGIN]:
        model.BeginSentenceWrite(state)
        del words[0]
    else:
        model.NullContextWrite(state)
    for word in words:
        after = kenlm.State()
        model.BaseScore(state, word_name(word), after)
        state = after
    return state
