"""Whether c, the relative time of a draft step, fits the models' sizes, and how sure it is."""

import math

from simulator.cost.cost import Cost

# Standard deviations from the middle of a normal law to the ends of its 90 % interval.
_NINETY = 1.645


def expected_c(cost: Cost) -> tuple[float, float] | None:
    """Returns the range of c expected from the models' sizes; None without sizes.

    Also None if a model of the machine gives c and no run corrects it. The range contains the c of
    28 timed pairs (benchmarks/published_decoding.json), which is 1.07 to 5.41 times `draft_share`,
    and at most 0.38 above it.
    """
    share, load = cost.setting.draft_share, cost.setting.load
    follows = load is not None and load.modelled and not cost.own_runs
    return None if share is None or follows else (share / 4, 3 * share + 0.25)


def questions_c(cost: Cost) -> bool:
    """Returns whether c lies outside the range that the models' sizes suggest (`expected_c`)."""
    expected = expected_c(cost)
    return expected is not None and not expected[0] <= cost.c <= expected[1]


def assumed_c(cost: Cost) -> tuple[float, float] | None:
    """Returns the 90 % interval of c if c was assumed; None if a model or a run gives c."""
    posterior = cost.posterior
    load = cost.setting.load
    if posterior is None or load is not None or any(run.gamma for run in posterior.runs):
        return None
    from simulator.cost.fitted.machine import PARAMETERS

    at = PARAMETERS.index("draft")
    factor = math.exp(_NINETY * math.sqrt(posterior.covariance[at, at]))
    return cost.c / factor, cost.c * factor
