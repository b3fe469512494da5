"""Reads what OpenVINO GenAI's samples of speculative decoding print after a text.

The lines are as in samples/python/text_generation/speculative_decoding_lm.py, commit 015a9936b679
(2026). The draft model's part prints more tokens than were verified (91 tokens in 86 steps, tried
with 2026.4.1), so γ must be stated.
"""

import re
from collections.abc import Iterable
from functools import reduce
from operator import add

from engines.counting import times
from engines.observing.observation import Observation

_TARGET = re.compile(
    r"MAIN MODEL\s+Generate time: (?P<ms>[\d.]+) ms\s+TTFT: (?P<first>[\d.]+) .*?"
    r"Num generated token: (?P<tokens>\d+) tokens\s+Total iteration number: (?P<passes>\d+)\s+"
    r"Num accepted token: (?P<accepted>\d+) tokens",
    re.S,
)
_OMITS = (
    "OpenVINO GenAI's printed number of accepted tokens omits the last block of each text. Here "
    "the number is the generated tokens minus one for each pass."
)


def read_log(blocks: Iterable[str], gamma: int | None) -> Observation:
    """Returns the counts of all printed texts.

    The first of the target's passes reads the prompt and verifies no draft. Each pass emits the
    target's own token and the accepted ones.

    gamma: drafted tokens per block, which the text does not state.
    """
    printed = [_text(match, gamma) for match in _TARGET.finditer("".join(blocks))]
    if not printed:
        raise ValueError(
            "metrics of OpenVINO GenAI must have the lines of MAIN MODEL, got a part of them"
        )
    return reduce(add, printed)


def _text(printed: re.Match[str], gamma: int | None) -> Observation:
    if gamma is None:
        raise ValueError("gamma must be given with OpenVINO GenAI's metrics, which do not state it")
    tokens, passes = int(printed["tokens"]), int(printed["passes"])
    drafts = max(passes - 1, 0)
    seconds = (float(printed["ms"]) - float(printed["first"])) / 1e3
    return Observation(
        kind="openvino",
        origin="log",
        stated_gamma=gamma,
        drafts=drafts,
        drafted=gamma * drafts,
        accepted=max(tokens - passes, 0),
        timed=times(seconds, tokens - 1, 1),
        notes=(_OMITS,),
    )
