"""Makes a row of a validation from the runs of an arm: measurement and prediction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from estimator.intervals import jackknife_interval, left_out, ratio
from estimator.prompts.prompts import prompts_hash
from estimator.timing import rates
from estimator.timing.rates import AGAIN, BASELINE
from estimator.traces.scoring import verification_of
from estimator.traces.text_traces import TextTraces, ahead_interval, replay_factor
from estimator.traces.traces import Trace
from estimator.validation.file import SpeculativeRow, row_doubts
from reference.policies import Confidence, Fixed, Policy, Product
from simulator.acceptance.stopping.stopped_text import RULES, StoppedBlocks
from simulator.choice.walltime import improvement_factor
from simulator.cost.cost import Cost


@dataclass(frozen=True, slots=True)
class RowEvidence:
    """The data from which the validation's rows of one draft and temperature are computed.

    texts: traces of the runs' texts, with the models and the prompts.
    runs, timed: all repeats of the runs, and the runs with median times over their repeats.
    cost: cost that was measured in other runs.
    out_of_order: by γ, a sentence if a step with γ is faster than a step with a smaller γ.
    """

    texts: TextTraces
    runs: rates.Runs
    timed: rates.Timed
    cost: Cost
    noise: rates.Noise
    out_of_order: Mapping[int, str]


def row_of(
    evidence: RowEvidence, arm: str, policy: Policy, generator: np.random.Generator
) -> SpeculativeRow:
    """Returns the row of the decoder `arm`, with predictions if replay can predict its policy."""
    row = _measured(evidence, arm, policy)
    verification = verification_of(evidence.texts.subject.rule)
    if verification is not None and isinstance(policy, Fixed):
        row = _predicted(row, evidence, arm, policy.value, generator)
    if verification == "token" and row.lossless and isinstance(policy, Confidence):
        row = _predicted_stopped(row, evidence, arm, policy)
    doubts = row_doubts(row, tokens_a_call=row.block_efficiency)
    if row.gamma is not None and row.gamma in evidence.out_of_order:
        doubts += (evidence.out_of_order[row.gamma],)
    return replace(row, doubts=doubts)


def _measured(evidence: RowEvidence, arm: str, policy: Policy) -> SpeculativeRow:
    timed, texts, subject = evidence.timed, evidence.texts, evidence.texts.subject
    drafted_by, greedy = subject.drafter.sampling, subject.sampling.greedy
    tokens = np.array([len(run.tokens) for run in timed[arm]])
    baseline = float((rates.decode_rate(timed[BASELINE]) * tokens).sum())

    def total(name: str, name_of_arm: str = arm) -> Any:
        return sum(getattr(run, name) for run in timed[name_of_arm])

    seconds, emitted, drafted = total("decode_seconds"), int(tokens.sum()), total("drafted")
    prefills = [total("prefill_seconds", name) for name in (BASELINE, arm)]
    low, high = rates.measured_interval(timed, arm)
    gap = texts.tie_gap(evidence.runs, arm) if greedy else None
    return SpeculativeRow(
        draft=subject.drafter.name,
        target=subject.target.name,
        prompts_hash=prompts_hash(texts.prompts),
        temperature=subject.sampling.temperature,
        draft_temperature=None if drafted_by is None else drafted_by.temperature,
        policy=policy.name if isinstance(policy, Fixed) else arm,
        gamma=policy.value if isinstance(policy, Fixed) else None,
        rule=subject.rule.name,
        lossless=subject.rule.lossless,
        alpha=texts.alpha(timed[BASELINE]),
        c=None if evidence.cost.observed_gamma is None else evidence.cost.c,
        measured=baseline / seconds,
        measured_low=low,
        measured_high=high,
        measured_left_out=rates.measured_left_out(timed, arm),
        target_calls=total("target_calls"),
        block_efficiency=emitted / total("target_calls"),
        accepted_fraction=total("accepted") / drafted if drafted > 0 else None,
        tokens=emitted,
        identical_to_target=gap is None if greedy else None,
        tie_gap=gap,
        draft_seconds=total("draft_seconds"),
        verify_seconds=total("verify_seconds"),
        other_seconds=total("other_seconds"),
        baseline_tokens_per_second=emitted / baseline,
        tokens_per_second=emitted / seconds,
        ms_per_token=1e3 * seconds / emitted,
        end_to_end_measured=(prefills[0] + baseline) / (prefills[1] + seconds),
    )


def _predicted(
    row: SpeculativeRow, evidence: RowEvidence, arm: str, gamma: int, draws: np.random.Generator
) -> SpeculativeRow:
    """Returns the row with predictions added.

    A lossy rule changes the run's texts. Replay along these texts is then valid only if target and
    draft both choose by argmax, because then a drafted token is accepted if and only if the text
    has it.
    """
    texts, timed, cost = evidence.texts, evidence.timed, evidence.cost
    row = replace(row, predicted_theorem8=float(improvement_factor(row.alpha, gamma, cost.c)))
    greedy = row.temperature == 0 and row.draft_temperature in (None, 0)
    if not row.lossless and not greedy:
        return row
    own_texts, probing = texts.of(timed[arm]), rates.probes(timed)
    prefill_base = sum(text.prefill_seconds for text in timed[AGAIN])
    prefill_own = sum(text.prefill_seconds for text in probing) * len(own_texts) / len(probing)
    base = cost.baseline_seconds * np.array([text.tokens for text in own_texts])
    blocks = np.array([text.replay.seconds(gamma, cost) for text in own_texts])
    predicted = float(base.sum() / blocks.sum())
    low = high = None
    if row.measured_left_out:
        errors = left_out(base) / left_out(blocks) / np.array(row.measured_left_out)
        low, high = jackknife_interval(predicted / row.measured, errors, scale=ratio)
    row = replace(
        row,
        predicted=predicted,
        error_percent_low=None if low is None else 100 * (low - 1),
        error_percent_high=None if high is None else 100 * (high - 1),
        predicted_target_calls=float(sum(text.replay.calls(gamma) for text in own_texts)),
        end_to_end_predicted=float((prefill_base + base.sum()) / (prefill_own + blocks.sum())),
    )
    if not row.lossless:
        return row
    pairs = list(zip(texts.of(timed[BASELINE]), texts.of(timed[AGAIN]), strict=True))
    low, high = ahead_interval(pairs, gamma, cost, noise=evidence.noise, generator=draws)
    return replace(
        row,
        predicted_ahead=replay_factor([trace for pair in pairs for trace in pair], gamma, cost),
        predicted_ahead_low=low,
        predicted_ahead_high=high,
    )


def _predicted_stopped(
    row: SpeculativeRow, evidence: RowEvidence, arm: str, policy: Confidence
) -> SpeculativeRow:
    texts, timed, cost = evidence.texts, evidence.timed, evidence.cost
    rule = RULES["product" if isinstance(policy, Product) else "transformers"]
    drawn = row.draft_temperature != 0

    def stopped(trace: Trace) -> StoppedBlocks:
        return trace.stopped(rule, drawn=drawn).blocks(policy.most, rule, policy.threshold)

    of_arm, other = texts.of(timed[arm]), [*texts.of(timed[BASELINE]), *texts.of(timed[AGAIN])]
    if any(trace.confidence is None for trace in (*of_arm, *other)):
        return row
    blocks = [stopped(trace) for trace in of_arm]
    base, ahead = (cost.baseline_seconds * sum(t.tokens for t in some) for some in (of_arm, other))
    return replace(
        row,
        predicted=base / sum(block.seconds(cost) for block in blocks),
        predicted_target_calls=float(sum(block.verified.sum() for block in blocks)),
        predicted_ahead=ahead / sum(stopped(trace).seconds(cost) for trace in other),
    )
