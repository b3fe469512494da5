"""The planner of the adaptive policy: the best gamma for an estimated alpha, at measured costs."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from estimator.timing.arms import probed, probing, run_arms
from estimator.timing.precision import Timing
from estimator.timing.rates import priced, timed
from reference.policies import Adaptive
from reference.speculative import Subject
from simulator.acceptance.iid import Iid
from simulator.choice.gain import best_gamma
from simulator.cost.cost import Cost

# A text has a few dozen blocks, so alpha is not known more precisely.
ALPHA_STEPS = 1000
PROBED_PROMPTS = 2


def planner(cost: Cost, *, max_gamma: int) -> Callable[[float], int]:
    """Returns a function from alpha to the gamma with the largest calibrated improvement.

    Its result is at most max_gamma; 0 means a plain target step. It looks results up on a grid of
    alphas, so it costs almost no time per block.
    """
    best = [
        best_gamma(Iid(step / ALPHA_STEPS), cost, max_gamma=max_gamma)
        for step in range(ALPHA_STEPS + 1)
    ]

    def plan(alpha: float) -> int:
        return best[round(alpha * ALPHA_STEPS)]

    return plan


def probed_gammas(max_gamma: int) -> list[int]:
    """Returns powers of two up to max_gamma, and max_gamma."""
    return sorted({max_gamma, *(2**i for i in range(max_gamma.bit_length()))})


def adaptive(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    timing: Timing,
    *,
    max_gamma: int,
) -> Adaptive:
    """Returns the adaptive policy, after measuring costs on the first prompts.

    prompts: ids, at least one prompt.
    timing: its seed and progress are used; each run is timed once, without a time limit.
    """
    runs = run_arms(
        subject,
        prompts[:PROBED_PROMPTS],
        probing(probed_gammas(max_gamma)),
        replace(timing, repeats=1, until=None),
    )
    return Adaptive(planner(priced(timed(runs)), max_gamma=max_gamma))


def planning_generations(prompts: Sequence[Sequence[int]], max_gamma: int) -> int:
    """Returns how often `adaptive` calls progress."""
    return len(prompts[:PROBED_PROMPTS]) * (2 + len(probed(probed_gammas(max_gamma))))
