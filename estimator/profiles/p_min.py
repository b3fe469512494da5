"""Thresholds of a stopping rule on a profile's recorded texts: acceptances and gains."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import jackknife_interval, left_out, ratio
from estimator.profiles.profile import Profile
from estimator.traces.trace_file import MATCHES, read_arrays, read_traces, traces_path
from estimator.traces.traces import DraftSampling, Trace, alpha, calibrated, reliability
from simulator.acceptance.replayed import Replayed
from simulator.acceptance.stopping.stopped_text import MATCH, Stopped, StoppingRule
from simulator.cost.cost import Cost

# Thresholds that --p-min auto tries.
AUTO = tuple(round(0.05 * step, 2) for step in range(20))
# Rounding may set apart the α of a profile and of its traces by this much.
ROUNDING = 1e-9


class StopGain(NamedTuple):
    """The gain of the best draft length and threshold over the best fixed length.

    gamma, p_min: the draft length and the threshold that together decode the texts fastest.
    fixed_gamma: the draft length that decodes the texts fastest at threshold 0.
    value: time with `fixed_gamma` over time with `gamma` and `p_min`, biased upwards, because both
      were chosen on these texts.
    low, high: interval of `value` over texts; None for a single text.
    held_out: the ratio of times if each text is decoded with the choice that is best on all other
      texts; None for a single text.
    """

    gamma: int
    p_min: float
    fixed_gamma: int
    value: float
    low: float | None
    high: float | None
    held_out: float | None


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Replayed texts decoded under a stopping rule, at several thresholds and draft lengths.

    p_mins: the thresholds, ascending. The first is 0, which gives drafts of fixed length.
    considered: indices of the thresholds that may be chosen.
    tokens: number of tokens of each text, or of each group of texts, shape (texts,).
    verified, paid: number of blocks that verify 0, …, γ tokens, and that take 0, …, γ draft steps,
      for γ = 1, 2, …, shape (texts, p_mins, γ, γ + 1).
    errors: standard errors of the numbers of drafted tokens, shape (texts, p_mins, γ).
    reliability: result of `traces.reliability` for a rule that calibrates; else empty.
    """

    rule: StoppingRule
    alpha: float
    p_mins: tuple[float, ...]
    considered: list[int]
    tokens: NDArray[np.int64]
    verified: NDArray[np.floating | np.integer]
    paid: NDArray[np.floating | np.integer]
    errors: NDArray[np.float64]
    reliability: list[dict[str, float]]

    @property
    def max_gamma(self) -> int:
        """The longest recorded draft."""
        return int(self.verified.shape[2])

    @property
    def acceptances(self) -> tuple[Stopped, ...]:
        tokens = self.tokens.sum()
        verified, paid = (counts.sum(axis=0) / tokens for counts in (self.verified, self.paid))
        errors = np.sqrt((self.errors**2).sum(axis=0))[:, -1] / tokens
        stopped = partial(Stopped, self.alpha, rule=self.rule)
        steps = (Replayed(self.alpha, _rows(counts)) for counts in paid)
        columns = zip(map(_rows, verified), steps, self.p_mins, errors.tolist(), strict=True)
        return tuple(
            stopped(blocks, paid=counts, p_min=p_min, drafted_error=error)
            for blocks, counts, p_min, error in columns
        )

    def gain(self, cost: Cost, *, max_gamma: int) -> StopGain:
        """Returns the fastest threshold and draft length up to max_gamma, and their gain."""
        counts = np.arange(self.max_gamma + 1)
        checking = self.verified @ cost.checking_seconds(counts)
        seconds = (checking + self.paid @ cost.drafting_seconds(counts))[:, :, :max_gamma]
        total = seconds.sum(axis=0)
        best, fixed = self._least(total), (0, int(total[0].argmin()))
        value = float(total[fixed] / total[best])
        above, below = left_out(seconds[:, *fixed]), left_out(seconds[:, *best])
        low, high = jackknife_interval(value, above / below, scale=ratio, sizes=self.tokens)
        held_out = None
        if len(seconds) > 1:
            others = list(zip(seconds, total - seconds, strict=True))
            plain = sum(text[0, other[0].argmin()] for text, other in others)
            held_out = float(plain / sum(text[self._least(other)] for text, other in others))
        p_min = self.p_mins[best[0]]
        return StopGain(best[1] + 1, p_min, fixed[1] + 1, value, low, high, held_out)

    def _least(self, seconds: NDArray[np.float64]) -> tuple[int, int]:
        """Returns the indices of the threshold and the draft length with the shortest time."""
        considered = seconds[self.considered]
        threshold, gamma = np.unravel_index(considered.argmin(), considered.shape)
        return self.considered[int(threshold)], int(gamma)


def replayed(
    traces: Sequence[Trace], rule: StoppingRule, p_mins: Sequence[float], *, drawn: bool
) -> Thresholds:
    """Returns the replay of every text at every threshold and draft length.

    p_mins: thresholds that may be chosen. drawn: whether the draft samples its tokens.
    """
    stated: list[dict[str, float]] = []
    if rule.calibrated:
        stated, traces = reliability(traces, rule.column), calibrated(traces, rule.column)
    texts = [trace.stopped(rule, drawn=drawn) for trace in traces]
    every = tuple(sorted({0.0, *p_mins}))
    longest = min(text.longest for text in texts)
    shape = (len(texts), len(every), longest, longest + 1)
    verified, paid, errors = np.zeros(shape), np.zeros(shape), np.zeros(shape[:-1])
    for text, p_min, at in np.ndindex(*shape[:-1]):
        blocks = texts[text].blocks(at + 1, rule, every[p_min])
        verified[text, p_min, at, : at + 2] = blocks.verified
        paid[text, p_min, at, : at + 2] = blocks.paid
        errors[text, p_min, at] = blocks.drafted_error
    considered = [every.index(p_min) for p_min in sorted(set(p_mins))]
    tokens, rate = np.array([trace.tokens for trace in traces]), alpha(traces)
    return Thresholds(rule, rate, every, considered, tokens, verified, paid, errors, stated)


def matched(path: Path, profile: Profile, stated: str) -> Thresholds | None:
    """Returns a lookup's blocks, with least match lengths as thresholds; None for other drafts.

    path: path of the profile. stated: value of `--p-min`: auto, or numbers of matched tokens.
    """
    place = traces_path(path)
    arrays = read_arrays(place) if place.exists() else {}
    if not arrays or str(arrays["layout"]) != MATCHES:
        return None
    least, tokens, blocks = (arrays[name] for name in ("least", "tokens", "blocks"))
    if _rows(blocks[:, 0].sum(axis=0) / tokens.sum()) != profile.drafting().blocks:
        raise ValueError(f"traces {place.name} must be of the profile's measurement, got others")
    names = [str(threshold) for threshold in least.tolist()]
    wanted = names if stated == "auto" else stated.split(",")
    if not {*wanted} <= {"0", *names}:
        raise ValueError(
            f"`p_min` for {profile.setup.draft} must be auto or numbers of matched tokens, of "
            f"{', '.join(names)}, got {stated!r}"
        )
    considered = sorted({0 if threshold == "0" else names.index(threshold) for threshold in wanted})
    p_mins, errors = (0.0, *map(float, names[1:])), np.zeros(blocks.shape[:-1])
    rate = profile.alpha.value
    return Thresholds(MATCH, rate, p_mins, considered, tokens, blocks, blocks, errors, [])


def _rows(blocks: NDArray[np.float64]) -> dict[int, tuple[float, ...]]:
    return {at: tuple(row[: at + 1].tolist()) for at, row in enumerate(blocks, start=1)}


def recorded_traces(
    path: Path, profile: Profile, sampling: DraftSampling, *, option: str
) -> list[Trace]:
    """Returns the traces saved with the profile at `path`; errors name the `option` in use."""
    place = traces_path(path)
    if not place.exists():
        needed = "the traces that 'specplan measure' writes next to a profile"
        raise ValueError(f"{option} needs {needed}, got no {place.name}")
    if str(read_arrays(place)["layout"]) == MATCHES:
        raise ValueError(
            f"{option} needs the confidence of every drafted token, got {place.name} with lengths "
            "of a lookup's matches"
        )
    traces = [pair.under(sampling) for pair in read_traces(place).values()]
    recorded, wanted = alpha(traces), profile.drafting(sampling).alpha.value
    if abs(recorded - wanted) > ROUNDING:
        raise ValueError(
            f"traces {place.name} must be of the profile's own measurement, got alpha "
            f"{recorded:.6g} "
            f"where the profile has {wanted:.6g}"
        )
    return traces
