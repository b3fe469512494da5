"""What the adaptive policy asks: the best gamma for an estimate of alpha, at measured costs."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from estimator.timing.arms import Timing, probed, probing, run_arms
from estimator.timing.rates import priced, timed
from reference.policies.policy import Adaptive
from reference.speculative import Subject
from simulator.acceptance.iid import Iid
from simulator.choice.gain import best_gamma
from simulator.cost.cost import Cost

# A text's blocks are a few dozen: alpha is not known better than this.
ALPHA_STEPS = 1000
PROBED_PROMPTS = 2


def planner(cost: Cost, *, max_gamma: int) -> Callable[[float], int]:
    """Returns a function from alpha to the gamma of the largest calibrated improvement.

    It looks up what was computed once for a grid of alphas: planning costs a block next to
    nothing. 0 stands for a plain target step.

    Args:
      cost: measured.
      max_gamma: the largest gamma considered, at least 1.
    """
    best = [
        best_gamma(Iid(step / ALPHA_STEPS), cost, max_gamma=max_gamma)
        for step in range(ALPHA_STEPS + 1)
    ]

    def plan(alpha: float) -> int:
        return best[round(alpha * ALPHA_STEPS)]

    return plan


def probed_gammas(max_gamma: int) -> list[int]:
    """Returns powers of two up to max_gamma, and max_gamma: a curve from few points."""
    return sorted({max_gamma, *(2**i for i in range(max_gamma.bit_length()))})


def adaptive(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    timing: Timing,
    *,
    max_gamma: int,
) -> Adaptive:
    """Returns the adaptive policy, which plans with costs measured now on the first prompts.

    Args:
      subject: the pair and its settings.
      prompts: ids, at least one prompt.
      timing: whose seed and progress count; each run is timed once, however long it takes.
      max_gamma: the longest draft that will be planned.
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
