"""Measures a profile on an engine: acceptance along the target's texts, and step times."""

from functools import partial

import numpy as np

from engines.counting import NOTHING
from engines.engine import Setting, run
from engines.observing.observation import Observation
from engines.observing.profiles import counted_drafting
from engines.text_scores import Pair, acceptance
from engines.trials.request import MeasureEngine
from engines.trials.running import completed
from engines.trials.timing import block_seconds, timed_steps
from engines.trials.trial import Trial
from estimator.profiles.contexts import at_contexts
from estimator.profiles.parts import DraftAcceptance, Estimate, Setup, TextSettings
from estimator.profiles.profile import ClockCheck, Improvement, Profile, TimesMs
from estimator.profiles.profile_file import write_profile
from estimator.profiles.workloads import measured_alpha
from estimator.progress import SILENT, Progress
from estimator.prompts.prompts import prompts_hash
from estimator.traces.trace_file import require_place, traces_path, write_traces
from estimator.traces.traces import (
    DRAFT_SAMPLINGS,
    DraftSampling,
    Trace,
    TracePair,
    replayed_blocks,
)
from simulator.acceptance.acceptance import Iid
from simulator.choice.curve import best_gamma, speed_up
from simulator.cost.curves import CostModel


def measure(request: MeasureEngine, progress: Progress = SILENT) -> tuple[Profile, float | None]:
    """Measures a pair and writes the output files. Returns the profile and `Steps.line_error`."""
    output = request.output
    lasting = output is not None and (output.is_file() or not output.exists())
    kept = traces_path(output) if output is not None and lasting else None
    if kept is not None:
        require_place(kept)
    # The target writes the texts without speculation; other prompts are timed.
    settings = ((), request.priced_gammas, (request.temperature,))
    with completed(request, progress, *settings) as (engine, score, trial):
        [case] = trial.cases
        timed, line_error = timed_steps(trial, case), None
        if trial.priced:
            cost, line_error = timed.steps.cost, timed.steps.line_error
        else:
            # The draft is served without a target.
            prompts, tokens = trial.other_prompts, request.text.max_new_tokens
            write = partial(run, max_new_tokens=tokens, progress=progress.step)
            progress.expect(len(prompts))
            with engine.serve(Setting(0, model="draft")) as server:
                written = write(server, prompts, case, request.seed, speculative=False)
            seconds = block_seconds(np.array(written.work(drafts_past_end=False)))
            cost = CostModel(
                {1: timed.levels["priced", 0]}, draft_seconds=float(np.nanmedian(seconds))
            )
        traced: list[TracePair] = []
        if request.counted:
            draftings = {request.draft_sampling: _counted(trial)}
        else:
            texts = trial.texts(trial.runs[case]["rows", 0][0])
            traced = [_traces(pair, case[0]) for pair in score(texts, case[0])]
            draftings = {}
            for way in DRAFT_SAMPLINGS:
                traces = [pair.under(way) for pair in traced]
                draftings[way] = DraftAcceptance(
                    measured_alpha(traces),
                    blocks=replayed_blocks(traces, request.max_gamma),
                    at_contexts=at_contexts(
                        traces, [len(prompt) for prompt, _ in texts], request.max_gamma
                    ),
                )
    doubts = tuple(dict.fromkeys(timed.out_of_order("priced").values()))
    clock = ClockCheck(quiet=False if doubts else None, doubts=doubts, repeats=trial.repeats)
    profile = _profile(trial, engine.flags, draftings, cost, clock, request.max_gamma)
    if output is not None:
        write_profile(profile, output)
    if kept is not None and traced:
        write_traces(kept, dict(enumerate(traced)), "engine")
    return profile, line_error


def _traces(scores: Pair, temperature: float) -> TracePair:
    """Returns the traces of a text that the target wrote, with a_t in place of β = Σ min(p, q).

    Scores have two log-probabilities per token, which do not give β. The mean of a_t is α, too.
    """
    ways = (
        acceptance(*scores, draft_sampling=way, temperature=temperature) for way in DRAFT_SAMPLINGS
    )
    sampled, argmax = (Trace(beta=a, ratio=a, drafted=None, limit=len(a)) for a in ways)
    return TracePair(sampled, argmax)


def _counted(trial: Trial) -> DraftAcceptance:
    """Returns the acceptance from the engine's counters at the largest timed γ."""
    [case], gamma = trial.cases, trial.priced[-1]
    runs = trial.runs[case]["priced", gamma]
    counts = vars(sum((one.total for one in runs), NOTHING))
    observation = Observation(**counts, kind=trial.kind.name, origin="metrics", stated_gamma=gamma)
    tokens = sum(one.decoded for one in runs)
    return counted_drafting(observation, tokens=tokens, prompts=len(trial.other_prompts))


def _profile(
    trial: Trial,
    flags: tuple[str, ...],
    draftings: dict[DraftSampling, DraftAcceptance],
    cost: CostModel,
    clock: ClockCheck,
    max_gamma: int,
) -> Profile:
    """Returns the profile of a measurement; flags: the engine's flags."""
    request, [(temperature, concurrency)] = trial.request, trial.cases
    drafting, priced = draftings[request.draft_sampling], cost.observed_gamma
    longest = max_gamma if priced is None else min(max_gamma, priced)
    prices = () if trial.priced else ("prices=target and draft alone",)
    return Profile(
        alpha=drafting.alpha,
        draft_sampling=request.draft_sampling,
        draftings=draftings,
        setup=Setup(
            target=trial.target,
            draft=trial.draft,
            sampling={"temperature": temperature},
            draft_temperature=0.0 if request.draft_sampling == "argmax" else temperature,
            texts=TextSettings(
                prompts_hash=prompts_hash(trial.prompts),
                max_new_tokens=request.text.max_new_tokens,
                max_gamma=max_gamma,
                seed=request.seed,
            ),
            engine=trial.kind.name,
            engine_version=trial.version,
            flags=(*flags, f"concurrency={concurrency}", *prices),
        ).here(("specplan",)),
        times=TimesMs.of(cost, Estimate(cost.c)),
        optimal_gamma=best_gamma(drafting.acceptance, cost, max_gamma=longest),
        improvement_factor={
            gamma: Improvement(
                replay=float(speed_up(drafting.acceptance, cost, gamma)),
                iid=float(speed_up(Iid(drafting.alpha.value), cost, gamma)),
            )
            for gamma in range(1, longest + 1)
        },
        clock=clock,
    )
