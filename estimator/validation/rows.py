"""Makes a row of a validation from the runs of an arm: measurement and prediction."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from estimator.costs.blocks import priced_ratio
from estimator.intervals import Interval, jackknife_interval, left_out, ratio
from estimator.prompts.prompts import prompts_hash
from estimator.timing.rates import (
    AGAIN,
    BASELINE,
    Noise,
    Runs,
    Timed,
    decode_rate,
    measured_interval,
    measured_left_out,
    probes,
)
from estimator.traces.scoring import verification_of
from estimator.traces.text_traces import TextTraces, ahead_interval, replay_factor
from estimator.traces.traces import Trace, replayed_calls
from estimator.validation.file import SpeculativeRow, row_doubts
from reference.policies import Confidence, Fixed, Policy, Product
from simulator.acceptance.stopping.rule import RULES
from simulator.acceptance.stopping.stopped_text import StoppedBlocks
from simulator.choice.walltime import improvement_factor
from simulator.cost.cost import Cost


@dataclass(frozen=True, slots=True)
class RowEvidence:
    """The data from which the rows of one draft and temperature are made.

    texts: traces of the runs' texts, with the pair and the prompts.
    runs: runs of every arm, with all repeats.
    timed: texts of every arm, with each block's median time.
    cost: cost measured in other runs.
    shrinking: by gamma, a sentence if its step is faster than a smaller gamma's.
    """

    texts: TextTraces
    runs: Runs
    timed: Timed
    cost: Cost
    noise: Noise
    shrinking: Mapping[int, str]


def row_of(
    evidence: RowEvidence, arm: str, policy: Policy, generator: np.random.Generator
) -> SpeculativeRow:
    """Returns the row of one arm, with predictions if replay knows the policy and the rule."""
    row = _measured(evidence, arm, policy)
    verification = verification_of(evidence.texts.subject.rule)
    if verification is not None and isinstance(policy, Fixed):
        row = _predicted(row, evidence, arm, policy.value, generator)
    if verification == "token" and row.lossless and isinstance(policy, Confidence):
        row = _predicted_stopped(row, evidence, arm, policy)
    doubts = row_doubts(row, tokens_a_call=row.block_efficiency)
    if row.gamma is not None and row.gamma in evidence.shrinking:
        doubts += (evidence.shrinking[row.gamma],)
    return replace(row, doubts=doubts)


def _measured(evidence: RowEvidence, arm: str, policy: Policy) -> SpeculativeRow:
    subject, timed = evidence.texts.subject, evidence.timed
    own_runs = timed[arm]
    tokens = np.array([len(run.tokens) for run in own_runs])
    total = int(tokens.sum())
    baseline = float((decode_rate(timed[BASELINE]) * tokens).sum())
    own = sum(run.decode_seconds for run in own_runs)
    prefills = [sum(run.prefill_seconds for run in timed[name]) for name in (BASELINE, arm)]
    low, high = measured_interval(timed, arm)
    drafted = sum(run.drafted for run in own_runs)
    calls = sum(run.target_calls for run in own_runs)
    gap = evidence.texts.tie_gap(evidence.runs, arm) if subject.sampling.greedy else None
    draft_sampling = subject.drafter.sampling
    return SpeculativeRow(
        draft=subject.drafter.name,
        target=subject.target.name,
        prompts_hash=prompts_hash(evidence.texts.prompts),
        temperature=subject.sampling.temperature,
        draft_temperature=None if draft_sampling is None else draft_sampling.temperature,
        policy=policy.name if isinstance(policy, Fixed) else arm,
        gamma=policy.value if isinstance(policy, Fixed) else None,
        rule=subject.rule.name,
        lossless=subject.rule.lossless,
        alpha=evidence.texts.alpha(timed[BASELINE]),
        c=priced_ratio(evidence.cost, probes(timed)),
        measured=baseline / own,
        measured_low=low,
        measured_high=high,
        measured_left_out=measured_left_out(timed, arm),
        target_calls=calls,
        block_efficiency=total / calls,
        accepted_fraction=sum(run.accepted for run in own_runs) / drafted if drafted > 0 else None,
        tokens=total,
        identical_to_target=gap is None if subject.sampling.greedy else None,
        tie_gap=gap,
        draft_seconds=sum(run.draft_seconds for run in own_runs),
        verify_seconds=sum(run.verify_seconds for run in own_runs),
        other_seconds=sum(run.other_seconds for run in own_runs),
        baseline_tokens_per_second=total / baseline,
        tokens_per_second=total / own,
        ms_per_token=1e3 * own / total,
        end_to_end_measured=(prefills[0] + baseline) / (prefills[1] + own),
    )


def _predicted(
    row: SpeculativeRow,
    evidence: RowEvidence,
    arm: str,
    gamma: int,
    generator: np.random.Generator,
) -> SpeculativeRow:
    """Returns the row with its predictions.

    For a lossy rule the target's own texts only give alpha, because the run's texts differ. Replay
    along the run's text is valid only if target and draft both choose by argmax, so that a token is
    accepted if and only if it is in the text.
    """
    texts, timed, cost = evidence.texts, evidence.timed, evidence.cost
    row = replace(row, predicted_theorem8=float(improvement_factor(row.alpha, gamma, cost.c)))
    greedy = row.temperature == 0 and row.draft_temperature in (None, 0)
    if not row.lossless and not greedy:
        return row
    own_texts, probing = texts.of(timed[arm]), probes(timed)
    prefill_base = sum(text.prefill_seconds for text in timed[AGAIN])
    prefill_own = sum(text.prefill_seconds for text in probing) * len(own_texts) / len(probing)
    base = cost.baseline_seconds * np.array([text.tokens for text in own_texts])
    blocks = np.array([text.replay.seconds(gamma, cost) for text in own_texts])
    predicted = float(base.sum() / blocks.sum())
    low, high = _error_interval(row, predicted, left_out(base) / left_out(blocks))
    row = replace(
        row,
        predicted=predicted,
        error_percent_low=low,
        error_percent_high=high,
        predicted_target_calls=sum(replayed_calls(t, gamma) for t in own_texts),
        end_to_end_predicted=float((prefill_base + base.sum()) / (prefill_own + blocks.sum())),
    )
    if not row.lossless:
        return row
    pairs = list(zip(texts.of(timed[BASELINE]), texts.of(timed[AGAIN]), strict=True))
    low, high = ahead_interval(pairs, gamma, cost, noise=evidence.noise, generator=generator)
    return replace(
        row,
        predicted_ahead=replay_factor([trace for pair in pairs for trace in pair], gamma, cost),
        predicted_ahead_low=low,
        predicted_ahead_high=high,
    )


def _error_interval(
    row: SpeculativeRow, predicted: float, without: NDArray[np.float64]
) -> Interval:
    """Returns the interval of a row's error in percent, over prompts; (None, None) for one prompt.

    without: the prediction with each prompt left out.
    """
    if not row.measured_left_out:
        return None, None
    errors = without / np.array(row.measured_left_out)
    low, high = jackknife_interval(predicted / row.measured, errors, scale=ratio)
    return (None, None) if low is None or high is None else (100 * (low - 1), 100 * (high - 1))


def _predicted_stopped(
    row: SpeculativeRow, evidence: RowEvidence, arm: str, policy: Confidence
) -> SpeculativeRow:
    """Returns the row of drafts that end by their confidence, with its predictions."""
    texts, timed, cost = evidence.texts, evidence.timed, evidence.cost
    rule = RULES["product" if isinstance(policy, Product) else "transformers"]
    drawn = row.draft_temperature != 0

    def stopped(trace: Trace) -> StoppedBlocks:
        return trace.stopped(rule, drawn=drawn).blocks(policy.most, rule, policy.threshold)

    own, other = texts.of(timed[arm]), [*texts.of(timed[BASELINE]), *texts.of(timed[AGAIN])]
    if any(trace.confidence is None for trace in (*own, *other)):
        return row
    blocks = [stopped(trace) for trace in own]
    base, ahead = (cost.baseline_seconds * sum(t.tokens for t in some) for some in (own, other))
    return replace(
        row,
        predicted=base / sum(each.seconds(cost) for each in blocks),
        predicted_target_calls=float(sum(each.verified.sum() for each in blocks)),
        predicted_ahead=ahead / sum(stopped(trace).seconds(cost) for trace in other),
    )
