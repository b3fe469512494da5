"""Results of interleaved runs: times of blocks, the cost fitted to them, speed-ups and noise.

A probe is speculative decoding of whole texts with one draft length. So each cost is measured under
the conditions of a run with that length.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median as middle

import numpy as np
from numpy.typing import NDArray

from estimator import intervals
from estimator.intervals import Interval, left_out
from reference.records import Generation
from simulator.cost.curves import CostModel

BASELINE, AGAIN, PROBE = "baseline", "again", "probe "
# Fewer prompts give no interval.
LEAST_PROMPTS = 2
# Difference of the baseline from itself, in per cent, up to which a machine counts as quiet.
QUIET_PERCENT = 10.0
# A block that takes this many times the median of its kind was delayed by something else.
HOLD_UP = 10
# The times of a block.
PARTS = ("verify_seconds", "draft_seconds", "other_seconds")

Runs = dict[str, list[list[Generation]]]  # arm -> prompt -> repeat
Timed = dict[str, list[Generation]]  # arm -> prompt
Seconds = NDArray[np.float64]


def median(repeats: Sequence[Generation]) -> Generation:
    """Returns a text's first repeat, with each block's times replaced by medians over the repeats.

    A minimum would select the luckiest moment, and short blocks have more such moments. Repeats
    with other ids than the first are left out: a device may round differently from run to run.
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


def both_baselines(texts: Timed) -> Timed:
    """Returns the texts, with the blocks of both baselines under AGAIN, which prices use.

    This is for texts that only measure costs: no measured speed-up then uses the baseline.
    """
    pairs = zip(texts[AGAIN], texts[BASELINE], strict=True)
    both = [replace(again, blocks=again.blocks + first.blocks) for again, first in pairs]
    return {**texts, AGAIN: both}


def _block_means(texts: Sequence[Generation]) -> tuple[Seconds, Seconds, Seconds]:
    """Returns draft lengths, and for each the number of blocks and the mean seconds of their parts.

    The mean seconds of the PARTS have shape (lengths, 3). Delayed blocks (see HOLD_UP) are ignored.
    """
    blocks = defaultdict(list)
    for text in texts:
        for block in text.blocks:
            blocks[len(block.drafted)].append([getattr(block, part) for part in PARTS])
    means = []
    for length, times in sorted(blocks.items()):
        whole = np.sum(times, axis=1)
        # With two blocks the faster one counts, because the other may have been delayed.
        kept = np.array(times)[whole <= HOLD_UP * np.quantile(whole, 0.5, method="lower")]
        means.append((length, len(kept), kept.mean(axis=0)))
    lengths, counts, seconds = zip(*means, strict=True)
    return np.array(lengths), np.array(counts, dtype=np.float64), np.array(seconds)


def fit_costs(baseline: Sequence[Generation], probe: Sequence[Generation]) -> CostModel:
    """Returns the cost model fitted to the times of blocks by draft length.

        t_p(1), t_b: the baseline's forward pass, and the baseline's time outside that pass
        t_p(g+1): the target's forward pass over a draft of g tokens
        t_o: the part of the time outside both models' passes that does not grow with the draft
        t_d(g): drafting and all other time in a block of g drafted tokens, without t_o
        t_q: slope of t_d per drafted token, fitted to all g > 0

    probe: texts decoded speculatively. With a single draft length above 0, t_q is the extra time
      per drafted token over blocks with g = 0, or without these the drafter's time per token.
    """
    _, _, [[step, _, baseline_overhead]] = _block_means(baseline)
    lengths, counts, seconds = _block_means(probe)
    verify, draft, other = seconds.T
    unverified = draft + other
    drafting = lengths > 0
    used = drafting if drafting.sum() > 1 else np.ones_like(drafting)
    if len(lengths) > 1:
        weights = np.sqrt(counts)
        draft_step, _ = np.polyfit(lengths[used], unverified[used], 1, w=weights[used])
        _, intercept = np.polyfit(lengths, other, 1, w=weights)
    else:
        draft_step = draft[0] / lengths[0] if drafting.any() else 0.0
        intercept = other[0]
    # At most the shortest other time, so that no draft has a negative time.
    overhead = min(max(float(intercept), 0.0), float(unverified.min()))
    verified = {int(g) + 1: float(t) for g, t in zip(lengths, verify, strict=True) if g > 0}
    return CostModel(
        target_seconds={1: float(step), **verified},
        draft_seconds=max(float(draft_step), 0.0),
        overhead_seconds=overhead,
        baseline_overhead_seconds=float(baseline_overhead),
        draft_curve={int(g): float(t - overhead) for g, t in zip(lengths, unverified, strict=True)},
    )


def jackknifed_costs(texts: Timed) -> list[CostModel]:
    """Returns the cost over all prompts, then the cost without each prompt if there are several."""
    prompts = range(len(texts[AGAIN]))
    fewer = [
        [prompt for prompt in prompts if prompt != left] for left in prompts if len(prompts) > 1
    ]
    return [priced(of_prompts(texts, some_prompts)) for some_prompts in (prompts, *fewer)]


def out_of_order(texts: Timed, gammas: Sequence[int]) -> dict[int, str]:
    """Returns, by γ, a sentence if its step is significantly faster than the next smaller γ's."""
    costs = jackknifed_costs(texts)

    def ratio(shorter: int, longer: int) -> Interval:
        ratios = [float(c.block_seconds(longer) / c.block_seconds(shorter)) for c in costs]
        return intervals.jackknife_interval(ratios[0], ratios[1:], scale=intervals.ratio)

    seconds = {gamma: float(costs[0].block_seconds(gamma)) for gamma in gammas}
    return intervals.steps_out_of_order(seconds, ratio)


def of_prompts(texts: Timed, prompts: Sequence[int]) -> Timed:
    """Returns the texts of some of the prompts, by their indices."""
    return {arm: [rows[prompt] for prompt in prompts] for arm, rows in texts.items()}


def decode_rate(texts: Sequence[Generation]) -> Seconds:
    """Returns each text's seconds per token, shape (prompts,)."""
    return np.array([text.decode_seconds / len(text.tokens) for text in texts])


def measured_interval(texts: Timed, arm: str) -> Interval:
    """Returns the interval of a decoder's measured speed-up, from the spread over prompts."""
    baseline, drafted = _seconds(texts, arm)
    return intervals.ratio_interval(baseline.tolist(), drafted.tolist())


def measured_left_out(texts: Timed, arm: str) -> tuple[float, ...]:
    """Returns a decoder's speed-up without prompt 1, without prompt 2, …; empty for one prompt."""
    baseline, drafted = map(left_out, _seconds(texts, arm))
    return tuple((baseline / drafted).tolist()) if len(drafted) >= LEAST_PROMPTS else ()


def _seconds(texts: Timed, arm: str) -> tuple[Seconds, Seconds]:
    """Returns the seconds of each of a decoder's texts: at the baseline's speed, and as decoded."""
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
        """Largest difference in per cent that timing errors cause, at the confidence level."""
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
