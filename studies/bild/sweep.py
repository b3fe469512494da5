"""A sweep over BiLD's thresholds, compared with speculative decoding and with each model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from estimator.costs.blocks import fit_costs
from estimator.prompts.prompts import prompts_hash
from estimator.timing.arms import run_arms, without_draft
from estimator.timing.precision import Timing, precision_percent
from estimator.timing.rates import (
    AGAIN,
    BASELINE,
    Timed,
    decode_rate,
    measured_interval,
    noise,
    probes,
    timed,
)
from estimator.validation.file import row_doubts
from reference.drafter import Drafter
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import seeded
from reference.policies import Fixed
from reference.records import Generation
from reference.speculative import Subject
from simulator.cost.cost import Cost
from studies.bild.cost import BildCalls, relative_latency
from studies.bild.grid import Arm, Grid
from studies.bild.loop import read_part
from studies.bild.metrics import own_metrics, reference_metrics, require_equal_number
from studies.bild.prediction import bild_trace, predict
from studies.bild.swept import BILD, LARGE, SMALL, WINDOW, BildRow, Sweep
from studies.bild.thresholds import Fallback, Rollback


def sweep(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    grid: Grid,
    timing: Timing,
    *,
    references: Sequence[str] | None = None,
    text_of: Callable[[Sequence[int]], str] = str,
) -> Sweep:
    """Returns quality and speed of every decoder, all interleaved on the same prompts.

    Args:
      subject: the pair, with a model as its drafter; its rule is not used.
      timing: how runs are timed; all prompts run at least once.
      references: a reference text per prompt; None: quality is measured without references.
      text_of: returns the text of ids, which is compared with the reference.

    Raises ValueError if prompts and references differ in number, or if the drafter is not a model.
    """
    if references is not None:
        require_equal_number(prompts, references)
    drafter, stopping = drafting_model(subject.drafter), subject.stopping
    arms = {arm.name: arm for arm in grid.arms(stopping.end_ids, stopping.max_new_tokens)}
    every = grid.probes(stopping.end_ids) | arms
    runs = run_arms(
        subject,
        prompts,
        {name: arm.begin for name, arm in every.items()},
        timing,
        least=len(prompts),
    )
    texts = timed(runs)
    cost = fit_costs(texts[AGAIN], [read_part(text) for text in probes(texts)])
    predictions = _predictions(subject, drafter, prompts, texts, arms)

    own = texts[BASELINE] if subject.sampling.greedy else _greedy_texts(subject, prompts)

    def quality(arm: str) -> dict[str, float]:
        metrics = own_metrics(subject.target, prompts, texts[arm], own)
        if references is None:
            return metrics
        written = [text_of(text.tokens) for text in texts[arm]]
        return reference_metrics(written, references) | metrics

    rows = [_row(subject, texts, BASELINE, None, quality(BASELINE))]
    rows += [
        _predicted(_row(subject, texts, name, arm, quality(name)), predictions.get(name), cost)
        for name, arm in arms.items()
    ]
    metric = "agreement" if references is None else "bleu"
    found = Sweep(
        rows=tuple(
            structs.replace(row, prompts_hash=prompts_hash(prompts), doubts=row_doubts(row))
            for row in rows
        ),
        metric=metric,
        prompts=len(prompts),
        c=cost.c,
        noise_percent=noise(texts).percent,
        precision_percent=precision_percent(texts),
        repeats=len(runs[BASELINE][-1]),
    )
    front = found.front(found.rows)
    marked = (structs.replace(row, pareto=row in front) for row in found.rows)
    return replace(found, rows=tuple(marked))


def drafting_model(drafter: Drafter) -> ModelDrafter:
    """Returns the drafter; raises ValueError if it is not a model, which a fallback needs."""
    if not isinstance(drafter, ModelDrafter):
        raise ValueError(f"bild needs a draft that is a model, got {drafter.name}")
    return drafter


def _greedy_texts(subject: Subject, prompts: Sequence[Sequence[int]]) -> list[Generation]:
    """Returns the large model's continuation of each prompt at temperature 0."""
    greedy = replace(subject, sampling=replace(subject.sampling, temperature=0.0))
    nothing_drawn = seeded(subject.target.device, 0)
    return [without_draft(greedy, prompt, nothing_drawn).finished() for prompt in prompts]


def _predictions(
    subject: Subject,
    drafter: ModelDrafter,
    prompts: Sequence[Sequence[int]],
    best: Timed,
    arms: Mapping[str, Arm],
) -> dict[str, BildCalls]:
    """Returns predictions for BiLD by arm, from traces along both models' own texts."""
    bild = {name: arm for name, arm in arms.items() if arm.decoder in (BILD, WINDOW)}
    longest = max(bild.values(), key=lambda arm: arm.most)
    policy, rule = longest.policy, longest.rule
    if not (
        subject.sampling.greedy and isinstance(policy, Fallback) and isinstance(rule, Rollback)
    ):
        return {}
    [small] = [name for name, arm in arms.items() if arm.decoder == SMALL]
    large_traces, small_traces = (
        [
            bild_trace(subject.target, drafter, prompt, text.tokens, fallback=policy, rollback=rule)
            for prompt, text in zip(prompts, best[name], strict=True)
        ]
        for name in (BASELINE, small)
    )
    return {
        name: predict(
            large_traces,
            small_traces,
            fallback=arm.fallback,
            rollback=np.inf if arm.rollback is None else arm.rollback,
            most=arm.most,
            max_new_tokens=subject.stopping.max_new_tokens,
        )
        for name, arm in bild.items()
        if arm.fallback is not None
    }


def _row(
    subject: Subject,
    texts: Timed,
    name: str,
    arm: Arm | None,
    quality: Mapping[str, float],
) -> BildRow:
    """Returns the row of an arm. Arm None is the large model without a draft."""
    own = texts[name]
    tokens = np.array([len(text.tokens) for text in own])
    total = int(tokens.sum())
    seconds = [float((decode_rate(texts[a]) * tokens).sum()) for a in (BASELINE, name)]
    low, high = measured_interval(texts, name)
    policy = Fixed(0) if arm is None else arm.policy
    return BildRow(
        target=subject.target.name,
        draft=subject.drafter.name,
        temperature=subject.sampling.temperature,
        policy="fixed" if isinstance(policy, Fixed) else "fallback",
        gamma=policy.value if isinstance(policy, Fixed) else None,
        rule="" if arm is None else arm.rule.name,
        decoder=LARGE if arm is None else arm.decoder,
        fallback=None if arm is None else arm.fallback,
        rollback=None if arm is None else arm.rollback,
        most=None if arm is None or arm.decoder == SMALL else arm.most,
        quality=quality,
        measured=seconds[0] / seconds[1],
        measured_low=low,
        measured_high=high,
        ms_per_token=1e3 * seconds[1] / total,
        tokens_per_second=total / seconds[1],
        large_calls=sum(text.target_calls for text in own),
        small_calls=sum(text.draft_calls for text in own),
        rollbacks=sum(text.rollbacks for text in own),
        discarded=sum(text.discarded for text in own),
        tokens=total,
        draft_seconds=sum(text.draft_seconds for text in own),
        verify_seconds=sum(text.verify_seconds for text in own),
        other_seconds=sum(text.other_seconds for text in own),
    )


def _predicted(row: BildRow, calls: BildCalls | None, cost: Cost) -> BildRow:
    """Returns the row with the speed and the calls that are predicted, if they are."""
    if calls is None:
        return row
    latency = float(relative_latency(calls, cost))
    per_token = row.tokens / float(calls.tokens)
    return structs.replace(
        row,
        predicted=1 / latency,
        predicted_seconds=latency * cost.baseline_seconds,
        predicted_large_calls=float(calls.large_calls) * per_token,
        predicted_small_calls=float(calls.small_calls) * per_token,
    )
