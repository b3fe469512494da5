"""Predicted against measured: one row for each draft, temperature and gamma policy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimator.costs.blocks import fit_costs
from estimator.runs.arms import (
    AGAIN,
    BASELINE,
    Runs,
    Subject,
    priced_ratio,
    probe_runs,
    probed,
    run_arms,
)
from estimator.runs.planner import adaptive, planning_generations
from estimator.runs.rates import (
    Seconds,
    decode_rate,
    measured_interval,
    median_sum,
    noise_logarithms,
)
from estimator.traces.ahead import ahead_interval, baseline_seconds, replay_factor, replay_seconds
from estimator.traces.text_traces import TextTraces
from estimator.traces.traces import replayed_calls
from estimator.validation.row import Row
from reference.policies.policy import Fixed, Policy
from simulator.choice.walltime import improvement_factor
from simulator.cost.curves import CostModel


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
    policies: Mapping[str, Policy | None],
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
      policies: by the name of their arm, which is what the row calls one that is not fixed. None
        stands for the adaptive policy, which plans with costs measured before all runs.
      max_gamma: the longest draft that a policy that is not fixed may ask for.
      repeats: how often each run is timed.
      seed: of texts, order and bootstrap.
      progress: called after each generation.
    """
    planned: dict[str, Policy] = {}
    for arm, policy in policies.items():
        if policy is None:
            policy = adaptive(
                subject, prompts, max_gamma=max_gamma, seed=seed, progress=progress
            )
        planned[arm] = policy
    runs = run_arms(
        subject,
        prompts,
        planned,
        probe_gammas=_priced(policies, max_gamma),
        repeats=repeats,
        seed=seed,
        progress=progress,
    )
    cost = fit_costs(runs[AGAIN], probe_runs(runs))
    texts = TextTraces(subject, prompts, _longest(policies, max_gamma))
    noise = noise_logarithms(runs, np.random.default_rng((seed, 1)))
    rows = tuple(
        _row(texts, arm, policy, runs, cost, noise, np.random.default_rng((seed, 2)))
        for arm, policy in planned.items()
    )
    baseline, again = (decode_rate(runs[arm]).sum() for arm in (BASELINE, AGAIN))
    return Validation(rows, cost, 100 * abs(float(np.log(baseline / again))))


def generations(
    prompts: Sequence[Sequence[int]],
    policies: Mapping[str, Policy | None],
    *,
    max_gamma: int,
    repeats: int,
) -> int:
    """Returns how often `validate` calls progress."""
    planning = list(policies.values()).count(None) * planning_generations(prompts, max_gamma)
    arms = 2 + len(probed(_priced(policies, max_gamma))) + len(policies)
    return planning + len(prompts) * repeats * arms


def _fixed(policies: Mapping[str, Policy | None]) -> list[int]:
    return [policy.value for policy in policies.values() if isinstance(policy, Fixed)]


def _longest(policies: Mapping[str, Policy | None], max_gamma: int) -> int:
    """Returns the longest draft that any of the policies may ask for."""
    gammas = _fixed(policies)
    return max([*gammas, max_gamma] if len(gammas) < len(policies) else gammas)


def _priced(policies: Mapping[str, Policy | None], max_gamma: int) -> list[int]:
    """Returns the draft lengths whose costs the predictions need."""
    drafted = [gamma for gamma in _fixed(policies) if gamma > 0]
    return drafted or [_longest(policies, max_gamma)]


@dataclass(frozen=True, slots=True)
class _Predicted:
    """A row's predictions; None where there is none."""

    theorem8: float | None = None
    ahead: float | None = None
    ahead_low: float | None = None
    ahead_high: float | None = None
    calibrated: float | None = None
    target_calls: float | None = None
    end_to_end: float | None = None


def _predict(
    texts: TextTraces,
    arm: str,
    policy: Policy,
    runs: Runs,
    cost: CostModel,
    noise: Seconds,
    generator: np.random.Generator,
) -> _Predicted:
    """Returns the predictions of a fixed gamma, else none.

    Of a lossy rule's run the target's own texts tell alpha alone, since the run leaves them; its
    text is not the target's, so replay along it holds at temperature 0 only, where a token is
    accepted if and only if it stands.
    """
    if not isinstance(policy, Fixed):
        return _Predicted()
    gamma = policy.value
    greedy, lossless = texts.subject.sampling.greedy, texts.subject.rule.lossless
    own_texts = texts.of(runs[arm])
    theorem8 = float(improvement_factor(texts.alpha(runs[BASELINE]), gamma, cost.c))
    if not lossless and not greedy:
        return _Predicted(theorem8=theorem8)
    prefill_base = median_sum(runs[AGAIN], lambda run: run.prefill_seconds)
    probes = probe_runs(runs)
    prefill_own = median_sum(probes, lambda run: run.prefill_seconds) * len(own_texts) / len(probes)
    predicted = _Predicted(
        theorem8=theorem8,
        calibrated=replay_factor(own_texts, gamma, cost),
        target_calls=sum(replayed_calls(t, gamma) for t in own_texts),
        end_to_end=(prefill_base + sum(baseline_seconds(t, cost) for t in own_texts))
        / (prefill_own + sum(replay_seconds(t, gamma, cost) for t in own_texts)),
    )
    if not lossless:
        return predicted
    pairs = list(zip(texts.of(runs[BASELINE]), texts.of(runs[AGAIN]), strict=True))
    low, high = ahead_interval(pairs, gamma, cost, noise=noise, generator=generator)
    ahead = replay_factor([trace for pair in pairs for trace in pair], gamma, cost)
    return replace(predicted, ahead=ahead, ahead_low=low, ahead_high=high)


def _row(
    texts: TextTraces,
    arm: str,
    policy: Policy,
    runs: Runs,
    cost: CostModel,
    noise: Seconds,
    generator: np.random.Generator,
) -> Row:
    """Returns the row of one arm."""
    subject = texts.subject
    own_runs = runs[arm]
    firsts = [row[0] for row in own_runs]
    tokens = np.array([len(run.tokens) for run in firsts])
    baseline = float((decode_rate(runs[BASELINE]) * tokens).sum())
    own = float((decode_rate(own_runs) * tokens).sum())
    low, high = measured_interval(runs, arm, generator)
    predicted = _predict(texts, arm, policy, runs, cost, noise, generator)
    drafted = sum(run.drafted for run in firsts)
    calls = sum(run.target_calls for run in firsts)
    gap = texts.tie_gap(runs, arm) if subject.sampling.greedy else None
    return Row(
        draft=subject.drafter.name,
        temperature=subject.sampling.temperature,
        policy=policy.name if isinstance(policy, Fixed) else arm,
        gamma=policy.value if isinstance(policy, Fixed) else None,
        rule=subject.rule.name,
        alpha=texts.alpha(runs[BASELINE]),
        c=priced_ratio(cost, runs),
        lossless=subject.rule.lossless,
        predicted_theorem8=predicted.theorem8,
        predicted_ahead=predicted.ahead,
        predicted_ahead_low=predicted.ahead_low,
        predicted_ahead_high=predicted.ahead_high,
        predicted_calibrated=predicted.calibrated,
        measured=baseline / own,
        measured_low=low,
        measured_high=high,
        predicted_target_calls=predicted.target_calls,
        target_calls=calls,
        block_efficiency=float(tokens.sum()) / calls,
        accepted_fraction=sum(run.accepted for run in firsts) / drafted if drafted > 0 else None,
        tokens=int(tokens.sum()),
        identical_to_target=gap is None if subject.sampling.greedy else None,
        tie_gap=gap,
        draft_seconds=median_sum(own_runs, lambda run: run.draft_seconds),
        verify_seconds=median_sum(own_runs, lambda run: run.verify_seconds),
        other_seconds=median_sum(own_runs, lambda run: run.other_seconds),
        baseline_tokens_per_second=float(tokens.sum()) / baseline,
        tokens_per_second=float(tokens.sum()) / own,
        end_to_end_predicted=predicted.end_to_end,
        end_to_end_measured=(
            median_sum(runs[BASELINE], lambda run: run.prefill_seconds) + baseline
        )
        / (median_sum(own_runs, lambda run: run.prefill_seconds) + own),
    )
