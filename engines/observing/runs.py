"""An observation as a run: the time of a token, and accepted drafts."""

from engines.observing.observation import Observation
from simulator.cost.machine import Drafting, LoadPoint
from simulator.cost.runs import USUAL_ERROR, Run


def observed_run(observation: Observation, *, context: int) -> Run | None:
    """Returns the run that was observed; None where nothing was timed.

    Args:
      context: tokens in each sequence's cache, which no source reports.
    """
    timed = observation.timed
    if timed is None:
        return None
    load = LoadPoint(context, 1 if timed.batch is None else timed.batch)
    counted = observation.counted
    return Run(
        load,
        timed.seconds_per_token,
        Drafting(observation.gamma),
        counted.length,
        USUAL_ERROR,
        counted.rates,
        counted.drafts,
        observation.model,
    )
