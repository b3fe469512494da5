"""Predicted against measured: one row for each draft, temperature and gamma policy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimator.costs.blocks import priced_ratio
from estimator.prompts import prompts_hash
from estimator.runs.arms import AGAIN, BASELINE, Runs, Subject, probed, probing, run_arms, under
from estimator.runs.planner import adaptive, planning_generations
from estimator.runs.rates import (
    Noise,
    decode_rate,
    measured_interval,
    measured_left_out,
    noise,
)
from estimator.runs.repeats import Timed, priced, probes, timed
from estimator.traces.ahead import ahead_interval, baseline_seconds, replay_factor, replay_seconds
from estimator.traces.text_traces import TextTraces
from estimator.traces.traces import replayed_calls
from estimator.validation.speculative_row import SpeculativeRow
from reference.policies.policy import Fixed, Policy
from simulator.choice.walltime import improvement_factor
from simulator.cost.cost import Cost
from simulator.cost.curves import CostModel


@dataclass(frozen=True, slots=True)
class Validation:
    """The rows of one draft and temperature, and what they were computed from.

    cost: measured apart from the rows' runs.
    noise: how far the baseline's speed, measured twice, differs from itself.
    repeats: how often each run was timed.
    prompts: how many there were.
    """

    rows: tuple[SpeculativeRow, ...]
    cost: CostModel
    noise: Noise
    repeats: int
    prompts: int


def validate(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    policies: Mapping[str, Policy | None],
    *,
    max_gamma: int,
    repeats: int,
    precision: float = 0.0,
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
      repeats: how often each run is timed, at most.
      precision: per cent; repeats end once the noise reaches no further.
      seed: of texts and order.
      progress: called after each generation.
    """
    planned: dict[str, Policy] = {}
    for arm, policy in policies.items():
        if policy is None:
            policy = adaptive(
                subject, prompts, max_gamma=max_gamma, seed=seed, progress=progress
            )
        planned[arm] = policy
    arms = {arm: under(subject, policy) for arm, policy in planned.items()}
    runs = run_arms(
        subject,
        prompts,
        probing(subject, _priced(policies, max_gamma)) | arms,
        repeats=repeats,
        seed=seed,
        progress=progress,
        enough=lambda runs: noise(timed(runs)).within_percent <= precision,
    )
    best = timed(runs)
    clock = noise(best)
    cost = priced(best)
    texts = TextTraces(subject, prompts, _longest(policies, max_gamma))
    rows = tuple(
        _row(texts, arm, policy, runs, best, cost, clock, np.random.default_rng((seed, 2)))
        for arm, policy in planned.items()
    )
    return Validation(rows, cost, clock, len(runs[BASELINE][0]), len(prompts))


def generations(
    prompts: Sequence[Sequence[int]],
    policies: Mapping[str, Policy | None],
    *,
    max_gamma: int,
    repeats: int,
) -> int:
    """Returns how often `validate` calls progress, if all repeats are needed."""
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
    runs: Timed,
    cost: Cost,
    clock: Noise,
    generator: np.random.Generator,
) -> _Predicted:
    """Returns the predictions of a fixed gamma, else none.

    Of a lossy rule's run the target's own texts tell alpha alone, since the run leaves them; its
    text is not the target's, so replay along it holds only where target and draft both choose by
    argmax, and a token is accepted if and only if it stands.
    """
    if not isinstance(policy, Fixed):
        return _Predicted()
    gamma = policy.value
    drafter, lossless = texts.subject.drafter, texts.subject.rule.lossless
    greedy = texts.subject.sampling.greedy and (drafter.sampling is None or drafter.sampling.greedy)
    own_texts = texts.of(runs[arm])
    theorem8 = float(improvement_factor(texts.alpha(runs[BASELINE]), gamma, cost.c))
    if not lossless and not greedy:
        return _Predicted(theorem8=theorem8)
    prefill_base = sum(text.prefill_seconds for text in runs[AGAIN])
    probing = probes(runs)
    prefill_own = (
        sum(text.prefill_seconds for text in probing) * len(own_texts) / len(probing)
    )
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
    low, high = ahead_interval(pairs, gamma, cost, noise=clock, generator=generator)
    ahead = replay_factor([trace for pair in pairs for trace in pair], gamma, cost)
    return replace(predicted, ahead=ahead, ahead_low=low, ahead_high=high)


def _row(
    texts: TextTraces,
    arm: str,
    policy: Policy,
    repeats: Runs,
    runs: Timed,
    cost: Cost,
    clock: Noise,
    generator: np.random.Generator,
) -> SpeculativeRow:
    """Returns the row of one arm."""
    subject = texts.subject
    own_runs = runs[arm]
    tokens = np.array([len(run.tokens) for run in own_runs])
    baseline = float((decode_rate(runs[BASELINE]) * tokens).sum())
    own = sum(run.decode_seconds for run in own_runs)
    low, high = measured_interval(runs, arm)
    predicted = _predict(texts, arm, policy, runs, cost, clock, generator)
    drafted = sum(run.drafted for run in own_runs)
    calls = sum(run.target_calls for run in own_runs)
    gap = texts.tie_gap(repeats, arm) if subject.sampling.greedy else None
    draft_sampling = subject.drafter.sampling
    return SpeculativeRow(
        draft=subject.drafter.name,
        temperature=subject.sampling.temperature,
        draft_temperature=None if draft_sampling is None else draft_sampling.temperature,
        policy=policy.name if isinstance(policy, Fixed) else arm,
        gamma=policy.value if isinstance(policy, Fixed) else None,
        rule=subject.rule.name,
        alpha=texts.alpha(runs[BASELINE]),
        c=priced_ratio(cost, probes(runs)),
        lossless=subject.rule.lossless,
        predicted_theorem8=predicted.theorem8,
        predicted_ahead=predicted.ahead,
        predicted_ahead_low=predicted.ahead_low,
        predicted_ahead_high=predicted.ahead_high,
        predicted=predicted.calibrated,
        measured=baseline / own,
        measured_low=low,
        measured_high=high,
        predicted_target_calls=predicted.target_calls,
        target_calls=calls,
        block_efficiency=float(tokens.sum()) / calls,
        accepted_fraction=sum(run.accepted for run in own_runs) / drafted if drafted > 0 else None,
        tokens=int(tokens.sum()),
        identical_to_target=gap is None if subject.sampling.greedy else None,
        tie_gap=gap,
        draft_seconds=sum(run.draft_seconds for run in own_runs),
        verify_seconds=sum(run.verify_seconds for run in own_runs),
        other_seconds=sum(run.other_seconds for run in own_runs),
        baseline_tokens_per_second=float(tokens.sum()) / baseline,
        ms_per_token=1e3 * own / float(tokens.sum()),
        tokens_per_second=float(tokens.sum()) / own,
        end_to_end_predicted=predicted.end_to_end,
        end_to_end_measured=(
            sum(run.prefill_seconds for run in runs[BASELINE]) + baseline
        )
        / (sum(run.prefill_seconds for run in own_runs) + own),
        target=subject.target.name,
        prompts_hash=prompts_hash(texts.prompts),
        measured_left_out=measured_left_out(runs, arm),
    )
