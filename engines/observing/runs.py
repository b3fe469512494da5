"""An observation as a run: what a deployment took for a token, and its accepted lengths."""

from __future__ import annotations

from itertools import accumulate

from engines.observing.observation import Observation
from simulator.acceptance.from_lengths import FromLengths, length_law
from simulator.cost.machine import Drafting, LoadPoint
from simulator.cost.runs import USUAL_ERROR, Run


def observed_run(observation: Observation, *, context: int) -> Run | None:
    """Returns the run that was observed; None where nothing was timed.

    Args:
      context: tokens in each sequence's cache, which no source tells.

    Raises:
      ValueError: if the time is none of a server.
    """
    timed = observation.timed
    if timed is None:
        return None
    load = LoadPoint(context, 1 if timed.batch is None else timed.batch)
    drafting = Drafting(observation.gamma)
    length = observation.block_efficiency
    return Run(load, timed.seconds_per_token, drafting, length, USUAL_ERROR)


def observed_acceptance(observation: Observation) -> FromLengths:
    """Returns the acceptance of what stood, with its doubt at every γ.

    Where positions are counted each of them tells the length of a shorter block.
    """
    lengths = {observation.gamma: observation.block_efficiency}
    for gamma, accepted in enumerate(accumulate(observation.hits), start=1):
        lengths[gamma] = 1 + accepted / observation.drafts
    return length_law(lengths).acceptance()
