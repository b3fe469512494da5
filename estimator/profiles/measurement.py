"""A profile from measurements: alpha from texts of the target, c and costs from probes."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import cycle

import numpy as np
import torch

from estimator.costs.operations import c_hat
from estimator.profiles import workloads
from estimator.profiles.best import plan_of, with_intervals
from estimator.profiles.parts import Setup, TextSettings
from estimator.profiles.profile import (
    ClockCheck,
    Improvement,
    LoadCosts,
    Profile,
    TextDetails,
    TimesMs,
)
from estimator.prompts.prompts import prompts_hash
from estimator.timing.batched import Prompts
from estimator.timing.rates import (
    AGAIN,
    BASELINE,
    Runs,
    both_baselines,
    noise,
    out_of_order,
    priced,
    probes,
    timed,
)
from estimator.traces.measured_traces import LIBRARIES, Tracing
from estimator.traces.scoring import draft_sampling, known_verification
from estimator.traces.traces import DRAFT_SAMPLINGS, TracePair, alpha, block_efficiency
from reference.records import Generation
from simulator.acceptance.acceptance import Iid
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.curve import speed_up


def measured_gammas(max_gamma: int) -> list[int]:
    """Returns the draft lengths to time: 1, 2, 3, 4, 6, 8, 12, … up to max_gamma, and max_gamma."""
    steps = (n << octave for octave in range(max_gamma.bit_length()) for n in (1, 3))
    return sorted({max_gamma, *(gamma for gamma in steps if gamma <= max_gamma)})


def make_profile(
    tracing: Tracing,
    pairs: Sequence[TracePair],
    runs: Runs,
    *,
    draft: str,
    categories: Sequence[str | None] = (),
    load: Sequence[LoadCosts] = (),
    flags: tuple[str, ...] = (),
) -> Profile:
    """Returns the profile of a pair's measurements.

    tracing: settings of the traces. Drafts up to its `max_gamma` tokens are replayed, and drafts up
      to its `ahead` tokens were timed.
    pairs: the result of `measure_traces`. Speed-ups use the traces of the draft's own sampling.
    runs: timed runs of the baseline, and of one decoder for each length in `measured_gammas`.
    draft: the draft's name, as the user gave it.
    categories: each prompt's category; empty, or None for a prompt without one.
    """
    subject, replayed, max_gamma = tracing.subject, tracing.max_gamma, tracing.ahead
    sampling, drafting = subject.drafter.sampling, draft_sampling(subject.drafter)
    verification = known_verification(subject.rule)
    traces = [pair.under(drafting) for pair in pairs]
    judged = [trace.judged(verification, replayed) for trace in traces]
    clock, gammas = noise(timed(runs)), measured_gammas(max_gamma)
    texts = both_baselines(timed(runs))
    cost, gained = priced(texts), workloads.speed_ups(judged, texts, gammas)
    drafted = cost.observed_gamma is not None
    mean_alpha = alpha(traces)
    doubts = tuple(dict.fromkeys(out_of_order(texts, gammas).values()))
    draftings = {
        way: workloads.draft_acceptance(
            [pair.under(way) for pair in pairs],
            replayed,
            max_gamma,
            prompts=[len(ids) for ids in tracing.prompts],
        )
        for way in DRAFT_SAMPLINGS
    }
    grouped = partial(workloads.workloads, judged, texts, gammas=gammas)
    profile = Profile(
        alpha=draftings[drafting].alpha,
        draft_sampling=drafting,
        draftings=draftings,
        verification=verification,
        times=TimesMs.of(cost, gained.c if drafted else None),
        c_hat=c_hat(tracing.modules[0], subject.drafter),
        details=TextDetails(
            alpha_by_position_in_text=workloads.alpha_by_position(traces),
            by_category=grouped(workloads.by_category(categories)),
            by_context=grouped(workloads.by_context(tracing.prompts)),
            prefill_ms={
                passes: _prefill_ms(rows, tracing.prompts)
                for passes, rows in (("target", texts[AGAIN]), ("target_and_draft", probes(texts)))
            },
            iid_check={
                "lag1_correlation_of_beta": workloads.lag1_correlation(traces),
                "block_efficiency": {
                    str(gamma): {
                        "replay": block_efficiency(judged, gamma),
                        "iid": float(expected_tokens(mean_alpha, gamma)),
                    }
                    for gamma in range(1, max_gamma + 1)
                },
            },
        ),
        optimal_gamma=gained.best,
        improvement_factor={
            gamma: Improvement(factor.value, float(speed_up(Iid(mean_alpha), cost, gamma)))
            for gamma, factor in gained.factors.items()
        },
        clock=ClockCheck(
            noise_percent=clock.percent,
            noise_within_percent=clock.within_percent,
            quiet=clock.quiet and not doubts,
            doubts=doubts,
            repeats=len(runs[BASELINE][-1]),
        ),
        load=tuple(load),
        left_out=gained.left_out if drafted else replace(gained.left_out, c=()),
        setup=Setup(
            target=subject.target.name,
            draft=draft,
            revision=dict(zip(("target", "draft"), tracing.commits, strict=True)),
            dtype=str(tracing.modules[0].dtype).removeprefix("torch."),
            device=str(subject.target.device),
            threads=torch.get_num_threads(),
            sampling=asdict(subject.sampling),
            draft_temperature=None if sampling is None else sampling.temperature,
            flags=flags,
            texts=TextSettings(
                prompts_hash=prompts_hash(tracing.prompts),
                max_new_tokens=subject.stopping.max_new_tokens,
                max_gamma=max_gamma,
                seed=tracing.seed,
            ),
        ).here(LIBRARIES),
    )
    advised = plan_of(profile, cost).advised_gamma
    return replace(with_intervals(profile), recommended_gamma=advised)


def _prefill_ms(texts: Sequence[Generation], prompts: Prompts) -> float:
    """Returns the median time of a prompt's pass; texts: of one decoder after another.

    Texts of which a part was read with the prompt are left out.
    """
    pairs = zip(texts, cycle(prompts), strict=False)
    whole = [text.prefill_seconds for text, ids in pairs if len(text.text) <= len(ids)]
    return 1e3 * float(np.median(whole))
