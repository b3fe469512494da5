"""A measurement by specplan's own decoder, from the request to the profile."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

from estimator.draft_names.kind import one_draft, parse_drafter
from estimator.loading.folders import own_hashes
from estimator.loading.pairs import LoadedPair, load
from estimator.profiles.measurement import make_profile, measured_gammas
from estimator.profiles.profile import Profile
from estimator.profiles.profile_file import write_profile
from estimator.profiles.under_load import load_times, require_load
from estimator.progress import SILENT, Progress
from estimator.requests import Measure
from estimator.rule_names import acceptance_rule
from estimator.settings import draft_sampling
from estimator.timing.arms import probing, require_positions, run_arms, without_draft
from estimator.timing.batched import batch_module
from estimator.timing.precision import timings
from estimator.timing.rates import AGAIN, BASELINE
from estimator.timing.text_parts import in_parts, text_parts
from estimator.timing.threads import Processes, computing, these_processes
from estimator.traces.measured_traces import Tracing, measure_traces, require_agreement
from estimator.traces.scoring import known_verification
from estimator.traces.trace_file import require_place, traces_path
from reference.drafters.model_drafter import draft_model
from reference.files import held
from reference.models.cached_model import CachedModel
from reference.speculative import Subject
from simulator.choice.plan import DEFAULT_MAX_GAMMA

Refusing = Callable[[Processes], AbstractContextManager[object]]
_Ready = tuple[LoadedPair, Tracing, CachedModel | None]


def measure(
    request: Measure,
    progress: Progress = SILENT,
    *,
    traced: Progress = SILENT,
    refusing: Refusing = lambda _: nullcontext(),
) -> Profile | None:
    """Measures a profile, writes it to the request's output and returns it.

    Returns None in all processes but the first.

    progress: counts the finished runs. traced: counts the prompts whose traces are finished.
    refusing: makes a context manager; if one process raises an error inside it, all processes do.
    """
    processes = these_processes()
    with ExitStack() as stack:
        stack.enter_context(computing(request.models.device, request.threads))
        with refusing(processes):
            place = _place(request)
            if place is not None and request.output is not None and processes.first:
                stack.enter_context(held(request.output))
                require_place(place)
            ready = _ready(request, processes)
        tracing = ready[1]
        if processes.count > 1:
            hashes = ", ".join(own_hashes(parse_drafter(one_draft(request.models))))
            described = processes.gathered(tracing.described | {"files of the draft": hashes})
            with refusing(processes):
                require_agreement(described)
        if not processes.first:
            # Nothing is left for it to do, and the first is to time undisturbed.
            measure_traces(tracing, processes=processes)
            return None
        profile = _profile(request, ready, processes, progress, traced)
        if request.output is not None:
            write_profile(profile, request.output)
    return profile


def _place(request: Measure) -> Path | None:
    """Returns the path of the saved traces; None if they are not saved."""
    return traces_path(request.output) if request.output and request.keeps_traces else None


def _ready(request: Measure, processes: Processes) -> _Ready:
    """Returns the loaded models, the settings of traces, and the draft model to time over batches.

    The draft is None without batch sizes. Raises ValueError for each setting that would fail later.
    """
    name = one_draft(request.models)
    if request.models.device_map is not None and processes.here > 1:
        raise ValueError(
            "device_map needs a machine's devices for one process, got "
            f"{processes.here} processes here"
        )
    rule = acceptance_rule(request.verification)
    known_verification(rule)
    sampling = request.sampling.at(request.temperature)
    drafted_by = draft_sampling(sampling, request.draft_temperature)
    loaded = load(
        request.models,
        request.text,
        sampling=request.sampling,
        compiling=request.compiling,
        gammas=measured_gammas(request.max_gamma),
    )
    [drafter_of] = loaded.drafters.values()
    subject = Subject(loaded.target, drafter_of(drafted_by), sampling, loaded.stopping, rule)
    require_positions(subject, loaded.prompts)
    if request.batch_size > 1:
        batch_module(loaded.target, [loaded.target.beginning(ids) for ids in loaded.prompts])
    tracing = Tracing(
        subject,
        loaded.prompts,
        max_gamma=max(request.max_gamma, DEFAULT_MAX_GAMMA),
        seed=request.seed,
        batch_size=request.batch_size,
        origins=tuple(loaded.origins),
        ahead=request.max_gamma,
    )
    if not request.batches:
        return loaded, tracing, None
    under_load = require_load(
        loaded.target,
        draft_model(subject.drafter),
        loads=request.loads,
        max_gamma=request.max_gamma,
        draft_name=name,
    )
    return loaded, tracing, under_load


def _profile(
    request: Measure, ready: _Ready, processes: Processes, progress: Progress, traced: Progress
) -> Profile:
    loaded, tracing, under_load = ready
    prompts, repeats = loaded.prompts, request.timing.repeats
    gammas = measured_gammas(request.max_gamma)
    arms, loads = {BASELINE: without_draft, AGAIN: without_draft} | probing(gammas), request.loads
    planned = len(prompts) * repeats * len(arms)
    traced.expect(len(prompts))
    progress.expect(len(prompts) + planned + len(loads) * repeats)

    def prompt_traced() -> None:
        traced.step()
        progress.step()

    traces = measure_traces(
        tracing, path=_place(request), processes=processes, progress=prompt_traced
    )
    every = timings(request, count=1, planned=planned, progress=progress)
    parts = text_parts(loaded.target, prompts, [pair.ids for pair in traces])
    timed = in_parts(arms, parts)
    [runs] = [
        run_arms(tracing.subject, prompts, timed, timing, least=len(prompts)) for timing in every
    ]
    how: dict[str, Any] = {"gammas": gammas, "repeats": repeats, "progress": progress.step}
    load = [
        load_times(loaded.target, under_load, batch=batch, context=context, **how)
        for batch, context in loads
        if under_load is not None
    ]
    return make_profile(
        tracing,
        traces,
        runs,
        draft=one_draft(request.models),
        categories=[text.category for text in loaded.texts],
        load=load,
        flags=request.flags,
    )
