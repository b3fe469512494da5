"""Predicted against measured: one row for each draft, temperature and gamma policy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.ahead import ahead_interval, baseline_seconds, replay_factor, replay_seconds
from estimator.arms import AGAIN, BASELINE, PROBE, Runs, Subject, run_arms
from estimator.costs import fit_costs
from estimator.intervals import interval, resampled_prompts
from estimator.traces import Trace, alpha, replayed_calls, trace
from reference.policies import Fixed, Policy
from reference.records import Block, Generation
from simulator.cost import CostModel
from simulator.walltime import improvement_factor

Seconds = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """One draft, temperature and policy: what was predicted, and what came of it.

    Speed-ups are of decoding, prefill apart, except the two `end_to_end` ones.

    gamma: of a fixed policy, else None, and so are the predictions.
    alpha: mean of sum min(p, q) over texts sampled from the target before the run.
    c: seconds of a draft step over seconds of a target step.
    predicted_theorem8: verification free, acceptances i.i.d.
    predicted_ahead, _low, _high: replay over those other texts.
    predicted_calibrated: replay over the run's own texts; costs measured apart.
    measured, _low, _high: baseline seconds over the run's, bootstrap over prompts and repeats.
    predicted_target_calls, target_calls: on the run's own texts.
    identical_to_target: every id equal to greedy decoding's; None above temperature 0.
    draft_seconds, verify_seconds, other_seconds: of the run, medians over repeats.
    """

    draft: str
    temperature: float
    policy: str
    gamma: int | None
    alpha: float
    c: float
    lossless: bool
    predicted_theorem8: float | None
    predicted_ahead: float | None
    predicted_ahead_low: float | None
    predicted_ahead_high: float | None
    predicted_calibrated: float | None
    measured: float
    measured_low: float
    measured_high: float
    predicted_target_calls: float | None
    target_calls: int
    block_efficiency: float
    accepted_fraction: float | None
    tokens: int
    identical_to_target: bool | None
    draft_seconds: float
    verify_seconds: float
    other_seconds: float
    baseline_tokens_per_second: float
    tokens_per_second: float
    end_to_end_predicted: float | None
    end_to_end_measured: float

    @property
    def error_percent(self) -> float | None:
        """100 (predicted_calibrated - measured) / measured."""
        if self.predicted_calibrated is None:
            return None
        return 100 * (self.predicted_calibrated - self.measured) / self.measured


@dataclass(frozen=True, slots=True)
class Validation:
    """The rows of one draft and temperature, and what they were computed from.

    cost: measured apart from the rows' runs.
    noise_percent: how far the baseline's speed, measured twice, differs from itself.
    """

    rows: tuple[Row, ...]
    cost: CostModel
    noise_percent: float


def validate(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    policies: Mapping[str, Policy],
    *,
    max_gamma: int,
    repeats: int,
    seed: int,
    progress: Callable[[], object],
) -> Validation:
    """Returns predicted and measured speed-ups of one pair under each policy.

    Args:
      subject: the pair and its settings.
      prompts: ids, at least one prompt.
      policies: by the name of their arm.
      max_gamma: the longest draft that a policy that is not fixed may ask for.
      repeats: how often each run is timed.
      seed: of texts, order and bootstrap.
      progress: called after each generation.
    """
    gammas = [policy.value for policy in policies.values() if isinstance(policy, Fixed)]
    longest = max([*gammas, max_gamma] if len(gammas) < len(policies) else gammas)
    runs = run_arms(
        subject,
        prompts,
        policies,
        probe_gammas=[gamma for gamma in gammas if gamma > 0] or [longest],
        repeats=repeats,
        seed=seed,
        progress=progress,
    )
    cost = fit_costs(blocks(runs[AGAIN]), blocks(runs[PROBE]))
    texts = TextTraces(subject, prompts, longest)
    noise = noise_logarithms(runs, np.random.default_rng((seed, 1)))
    rows = tuple(
        _row(subject, arm, policy, runs, cost, texts, noise, np.random.default_rng((seed, 2)))
        for arm, policy in policies.items()
    )
    baseline, again = (decode_rate(runs[arm]).sum() for arm in (BASELINE, AGAIN))
    return Validation(rows, cost, 100 * abs(float(np.log(baseline / again))))


def blocks(generations: Sequence[Sequence[Generation]]) -> list[Block]:
    """Returns all blocks of an arm, over prompts and repeats."""
    return [block for repeats in generations for run in repeats for block in run.blocks]


def decode_rate(generations: Sequence[Sequence[Generation]]) -> Seconds:
    """Returns each prompt's seconds per token, the median over repeats; shape (prompts,)."""
    rates: Seconds = np.median(_rates(generations), axis=1)
    return rates


def _rates(generations: Sequence[Sequence[Generation]]) -> Seconds:
    """Returns seconds per token, shape (prompts, repeats)."""
    return np.array([[run.decode_seconds / len(run.tokens) for run in row] for row in generations])


class TextTraces:
    """Traces of texts, each scored once however many arms produced it."""

    def __init__(
        self, subject: Subject, prompts: Sequence[Sequence[int]], max_gamma: int
    ) -> None:
        self._subject = subject
        self._prompts = prompts
        self._max_gamma = max_gamma
        self._known: dict[tuple[int, tuple[int, ...]], Trace] = {}

    def of(self, generations: Sequence[Sequence[Generation]]) -> list[Trace]:
        """Returns one trace for each prompt, of its first repeat's text."""
        return [self._trace(prompt, row[0].tokens) for prompt, row in enumerate(generations)]

    def _trace(self, prompt: int, tokens: tuple[int, ...]) -> Trace:
        key = (prompt, tokens)
        if key not in self._known:
            self._known[key] = trace(
                self._subject.target,
                self._subject.drafter,
                self._prompts[prompt],
                tokens,
                sampling=self._subject.sampling,
                limit=self._subject.stopping.max_new_tokens,
                max_gamma=self._max_gamma,
            )
        return self._known[key]


def noise_logarithms(runs: Runs, generator: np.random.Generator) -> Seconds:
    """Returns log-ratios of the baseline's speed to its own, resampled; shape (REPLICATES,)."""
    chosen = resampled_prompts(len(runs[BASELINE]), generator)
    baseline, again = (
        _resampled_rates(_rates(runs[arm]), chosen, generator).sum(axis=1)
        for arm in (BASELINE, AGAIN)
    )
    logarithms: Seconds = np.log(baseline / again)
    return logarithms


def _resampled_rates(
    rates: Seconds, chosen: NDArray[np.int64], generator: np.random.Generator
) -> Seconds:
    """Returns median rates over resampled repeats of the chosen prompts, shape of chosen."""
    repeats = rates.shape[1]
    picked = generator.integers(0, repeats, (*chosen.shape, repeats))
    return np.median(rates[chosen[..., None], picked], axis=-1)


def _measured_interval(
    runs: Runs, arm: str, generator: np.random.Generator
) -> tuple[float, float]:
    """Returns the bootstrap interval of an arm's measured speed-up."""
    tokens = np.array([len(row[0].tokens) for row in runs[arm]])
    chosen = resampled_prompts(len(tokens), generator)
    baseline, own = (
        (_resampled_rates(_rates(runs[name]), chosen, generator) * tokens[chosen]).sum(axis=1)
        for name in (BASELINE, arm)
    )
    return interval(baseline / own)


def _median_sum(
    generations: Sequence[Sequence[Generation]], seconds: Callable[[Generation], float]
) -> float:
    """Returns the sum over prompts of the median over repeats."""
    return float(sum(np.median([seconds(run) for run in row]) for row in generations))


def _row(
    subject: Subject,
    arm: str,
    policy: Policy,
    runs: Runs,
    cost: CostModel,
    texts: TextTraces,
    noise: Seconds,
    generator: np.random.Generator,
) -> Row:
    """Returns the row of one arm."""
    own_runs = runs[arm]
    firsts = [row[0] for row in own_runs]
    tokens = np.array([len(run.tokens) for run in firsts])
    baseline = float((decode_rate(runs[BASELINE]) * tokens).sum())
    own = float((decode_rate(own_runs) * tokens).sum())
    low, high = _measured_interval(runs, arm, generator)
    drafted = sum(run.drafted for run in firsts)
    calls = sum(run.target_calls for run in firsts)
    other_texts = texts.of(runs[BASELINE])
    mean_alpha = alpha(other_texts)
    greedy = subject.sampling.greedy and subject.rule.lossless

    gamma = policy.value if isinstance(policy, Fixed) else None
    theorem8 = ahead = ahead_low = ahead_high = calibrated = predicted_calls = end_to_end = None
    if gamma is not None:
        own_texts = texts.of(own_runs)
        theorem8 = float(improvement_factor(mean_alpha, gamma, cost.c))
        ahead = replay_factor(other_texts, gamma, cost)
        ahead_low, ahead_high = ahead_interval(
            other_texts,
            gamma,
            cost,
            noise=noise,
            sampled=not subject.sampling.greedy,
            generator=generator,
        )
        calibrated = replay_factor(own_texts, gamma, cost)
        predicted_calls = sum(replayed_calls(t, gamma) for t in own_texts)
        prefill_base = _median_sum(runs[AGAIN], lambda run: run.prefill_seconds)
        prefill_own = _median_sum(runs[PROBE], lambda run: run.prefill_seconds)
        end_to_end = (prefill_base + sum(baseline_seconds(t, cost) for t in own_texts)) / (
            prefill_own + sum(replay_seconds(t, gamma, cost) for t in own_texts)
        )
    return Row(
        draft=subject.drafter.name,
        temperature=subject.sampling.temperature,
        policy=policy.name,
        gamma=gamma,
        alpha=mean_alpha,
        c=cost.c,
        lossless=subject.rule.lossless,
        predicted_theorem8=theorem8,
        predicted_ahead=ahead,
        predicted_ahead_low=ahead_low,
        predicted_ahead_high=ahead_high,
        predicted_calibrated=calibrated,
        measured=baseline / own,
        measured_low=low,
        measured_high=high,
        predicted_target_calls=predicted_calls,
        target_calls=calls,
        block_efficiency=float(tokens.sum()) / calls,
        accepted_fraction=sum(run.accepted for run in firsts) / drafted if drafted > 0 else None,
        tokens=int(tokens.sum()),
        identical_to_target=all(
            run.tokens == row[0].tokens
            for row, others in zip(runs[BASELINE], own_runs, strict=True)
            for run in others
        )
        if greedy
        else None,
        draft_seconds=_median_sum(own_runs, lambda run: run.draft_seconds),
        verify_seconds=_median_sum(own_runs, lambda run: run.verify_seconds),
        other_seconds=_median_sum(own_runs, lambda run: run.other_seconds),
        baseline_tokens_per_second=float(tokens.sum()) / baseline,
        tokens_per_second=float(tokens.sum()) / own,
        end_to_end_predicted=end_to_end,
        end_to_end_measured=(
            _median_sum(runs[BASELINE], lambda run: run.prefill_seconds) + baseline
        )
        / (_median_sum(own_runs, lambda run: run.prefill_seconds) + own),
    )
