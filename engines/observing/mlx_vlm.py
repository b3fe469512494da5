"""Reads the answers of MLX-VLM's server, whose `timings` count the rounds of a draft."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engines.counting import times
from engines.observing.observation import Observation
from engines.observing.printed import number, text_of, whole_number


def read_answer(answer: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts and times of one answer.

    `GenerationTimings` in mlx_vlm/server/schemas.py (0.6.15) has the fields. A round is a
    target pass that verifies a draft; each token but the first comes from a round.

    gamma: drafted tokens per block; 0: no drafts; None: the mean draft, rounded up.
    """
    timings = answer["timings"]
    tokens = whole_number(timings, "predicted_n")
    plain = Observation(
        kind="mlx",
        origin="timings",
        model=text_of(answer, "model"),
        # `predicted_ms` is the number of all tokens times the time between two of them.
        timed=times(number(timings, "predicted_ms") / 1e3, tokens, 1),
    )
    if timings["draft_kind"] is None:
        if gamma == 0:
            return plain
        raise ValueError(
            "timings must have draft_kind, got null: speculation is off; --draft-model turns it on"
        )
    names = ("draft_rounds", "draft_n", "draft_n_accepted")
    rounds, drafted, accepted = (whole_number(timings, name) for name in names)
    counted = replace(plain, stated_gamma=gamma, drafts=rounds, drafted=drafted, accepted=accepted)
    prompt = number(timings, "prompt_n") + number(timings, "cache_n")
    return counted.over_all_steps(tokens - 1).of_one_request(prompt)
