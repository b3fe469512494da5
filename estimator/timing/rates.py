"""Results of interleaved runs: medians of repeats, the fitted cost, speeds and noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median as middle

import numpy as np
from numpy.typing import NDArray

from estimator import intervals
from estimator.costs.blocks import fit_costs
from estimator.intervals import Interval, left_out
from reference.records import Generation
from simulator.cost.curves import CostModel

BASELINE, AGAIN, PROBE = "baseline", "again", "probe "
# Fewer prompts give no interval.
LEAST_PROMPTS = 2
# Difference of the baseline from itself, in per cent, up to which a machine counts as quiet.
QUIET_PERCENT = 10.0
# The times of a block.
PARTS = ("draft_seconds", "verify_seconds", "other_seconds")

Runs = dict[str, list[list[Generation]]]  # arm -> prompt -> repeat
Timed = dict[str, list[Generation]]  # arm -> prompt
Seconds = NDArray[np.float64]


def median(repeats: Sequence[Generation]) -> Generation:
    """Returns a text's first repeat, with each block's times replaced by medians over the repeats.

    All repeats do equal work, and the machine's speed was divided out. The remaining differences
    are accidental, and a median ignores them. A minimum would select the luckiest moment, and short
    blocks have more such moments. A repeat whose ids differ is left out, because its blocks differ;
    ids can differ if a device rounds differently from run to run.
    """
    ways = [[(block.drafted, block.tokens) for block in run.blocks] for run in repeats]
    alike = [run for run, way in zip(repeats, ways, strict=True) if way == ways[0]]
    blocks = [
        replace(same[0], **{part: middle(getattr(block, part) for block in same) for part in PARTS})
        for same in zip(*(run.blocks for run in alike), strict=True)
    ]
    prefill = middle(run.prefill_seconds for run in alike)
    return replace(repeats[0], blocks=tuple(blocks), prefill_seconds=prefill)


def timed(runs: Runs) -> Timed:
    """Returns each decoder's texts, one per prompt, with median times over the repeats."""
    return {arm: [median(repeats) for repeats in rows] for arm, rows in runs.items()}


def probes(texts: Mapping[str, Sequence[Generation]]) -> list[Generation]:
    """Returns all texts of the decoders that measure costs, ordered by draft length and prompt."""
    return [text for arm, rows in texts.items() if arm.startswith(PROBE) for text in rows]


def priced(texts: Timed) -> CostModel:
    """Returns the cost model fitted to the times of the baseline's and the probes' texts."""
    return fit_costs(texts[AGAIN], probes(texts))


def shrinking(texts: Timed, gammas: Sequence[int]) -> dict[int, str]:
    """Returns a sentence for each γ whose step is significantly faster than a smaller γ's."""
    cost = priced(texts)
    seconds = {gamma: float(cost.block_seconds(gamma)) for gamma in gammas}
    return intervals.steps_out_of_order(seconds, partial(_step_ratio, texts))


def _step_ratio(texts: Timed, shorter: int, longer: int) -> Interval:

    def value(some: Timed) -> float:
        cost = priced(some)
        return float(cost.block_seconds(longer) / cost.block_seconds(shorter))

    prompts = range(len(texts[AGAIN]))
    if len(prompts) < LEAST_PROMPTS:
        return None, None
    others = [value(without(texts, prompt)) for prompt in prompts]
    return intervals.jackknife_interval(value(texts), others, scale=intervals.ratio)


def without(texts: Timed, prompt: int) -> Timed:
    """Returns the texts of all prompts except the one with this index."""
    return {arm: rows[:prompt] + rows[prompt + 1 :] for arm, rows in texts.items()}


def of_prompts(texts: Timed, prompts: Sequence[int]) -> Timed:
    """Returns the texts of some of the prompts, by their indices."""
    return {arm: [rows[prompt] for prompt in prompts] for arm, rows in texts.items()}


def decode_rate(texts: Sequence[Generation]) -> Seconds:
    """Returns each text's seconds per token; shape (prompts,)."""
    return np.array([text.decode_seconds / len(text.tokens) for text in texts])


def measured_interval(texts: Timed, arm: str) -> Interval:
    """Returns the interval of a decoder's measured speed-up, from the spread over prompts."""
    baseline, own = _seconds(texts, arm)
    return intervals.ratio_interval(baseline.tolist(), own.tolist())


def measured_left_out(texts: Timed, arm: str) -> tuple[float, ...]:
    """Returns a decoder's speed-up without prompt 1, without prompt 2, …; empty for one prompt."""
    baseline, own = map(left_out, _seconds(texts, arm))
    return tuple((baseline / own).tolist()) if len(own) >= LEAST_PROMPTS else ()


def _seconds(texts: Timed, arm: str) -> tuple[Seconds, Seconds]:
    """Returns seconds by prompt for the arm's tokens: at the baseline's speed, and the arm's."""
    tokens = np.array([len(text.tokens) for text in texts[arm]])
    return decode_rate(texts[BASELINE]) * tokens, decode_rate(texts[arm]) * tokens


@dataclass(frozen=True, slots=True)
class Noise:
    """The difference of two measurements of the baseline, which only timing errors cause.

    logarithm: log of the first measurement's seconds over the second's.
    error: standard deviation of `logarithm`, from the differences of single prompts.
    prompts: number of prompts, which equals the degrees of freedom of `error`.
    """

    logarithm: float
    error: float
    prompts: int

    @property
    def percent(self) -> float:
        """The difference of the two measurements in per cent."""
        return 100 * abs(self.logarithm)

    @property
    def within_percent(self) -> float:
        """Largest difference in per cent that timing errors cause, at the interval's level."""
        return 100 * float(np.expm1(intervals.student(self.prompts) * self.error))

    @property
    def quiet(self) -> bool:
        """Whether `percent` and `within_percent` are at most QUIET_PERCENT."""
        return max(self.percent, self.within_percent) <= QUIET_PERCENT


def noise(texts: Timed) -> Noise:
    """Returns the difference between the two measurements of the baseline."""
    baseline, again = (decode_rate(texts[arm]) for arm in (BASELINE, AGAIN))
    differences = 2 * (baseline - again) / (baseline + again).sum()
    logarithm = float(np.log(baseline.sum() / again.sum()))
    return Noise(logarithm, float(np.sqrt((differences**2).sum())), len(baseline))
