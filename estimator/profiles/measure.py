"""A measurement by specplan's own decoder, from the request to the profile."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict
from typing import Any

from estimator.costs.operations import c_hat
from estimator.draft_names.kind import parse_drafter
from estimator.loading.folders import own_hashes
from estimator.loading.pairs import LoadedPair, load, one_draft
from estimator.profiles.measurement import make_profile, measured_gammas
from estimator.profiles.parts import Setup
from estimator.profiles.profile import Profile
from estimator.profiles.profile_file import write_profile
from estimator.profiles.request import Measure
from estimator.profiles.under_load import load_times, require_load
from estimator.progress import SILENT, Progress
from estimator.rule_names import acceptance_rule
from estimator.settings import draft_sampling
from estimator.timing.arms import probing, require_positions, run_arms
from estimator.timing.batched import batch_module
from estimator.timing.precision import timings
from estimator.timing.threads import Processes, computing, these_processes
from estimator.traces.measured_traces import Tracing, measure_traces, require_agreement
from estimator.traces.scoring import known_verification
from estimator.traces.trace_file import require_place
from reference.drafters.model_drafter import draft_model
from reference.files import held
from reference.models.cached_model import CachedModel
from reference.speculative import Subject
from simulator.choice.plan import DEFAULT_MAX_GAMMA

Refusing = Callable[[Processes], AbstractContextManager[object]]
_Ready = tuple[LoadedPair, Tracing, CachedModel | None]
"""Loaded objects, settings of traces, and the draft whose passes over batches are timed."""


def measure(
    request: Measure,
    progress: Progress = SILENT,
    *,
    traced: Progress = SILENT,
    refusing: Refusing = lambda _: nullcontext(),
) -> Profile | None:
    """Writes the profile to the request's output and returns it; other processes return None.

    With several processes, only the first one makes the profile.

    progress, traced: objects that count finished runs, and prompts whose traces are saved.
    refusing: context manager in which all processes raise an error if one rejects its input.
    """
    processes = these_processes()
    with ExitStack() as stack:
        stack.enter_context(computing(request.models.device, request.threads))
        with refusing(processes):
            if request.kept is not None and request.output is not None and processes.first:
                stack.enter_context(held(request.output))
                require_place(request.kept)
            ready = _ready(request, processes)
        if processes.count > 1:
            hashes = ", ".join(own_hashes(parse_drafter(one_draft(request.models))))
            described = processes.gathered(ready[1].described | {"files of the draft": hashes})
            with refusing(processes):
                require_agreement(described)
        profile = _measured(request, ready, processes, progress, traced)
        if profile is not None and request.output is not None:
            write_profile(profile, request.output)
    return profile


def _ready(request: Measure, processes: Processes) -> _Ready:
    """Returns the loaded models and prompts; raises all errors that are known before any run."""
    name = one_draft(request.models)
    unmeasured = parse_drafter(name).unmeasured
    if unmeasured is not None:
        what, _, instead = unmeasured.partition(": ")
        raise ValueError(f"draft must not be {what}, got {name}: {instead}")
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
        batches=request.batches,
        context=request.tokens_in_cache,
        max_gamma=request.max_gamma,
        draft_name=name,
    )
    return loaded, tracing, under_load


def _measured(
    request: Measure,
    ready: _Ready,
    processes: Processes,
    progress: Progress,
    traced: Progress,
) -> Profile | None:
    loaded, tracing, under_load = ready
    target, prompts, subject = loaded.target, loaded.prompts, tracing.subject
    own = subject.drafter.sampling
    if not processes.first:
        # Nothing is left for it to do, and the first is to time undisturbed.
        measure_traces(tracing, processes=processes)
        return None
    traced.expect(len(prompts))
    repeats, gammas = request.timing.repeats, measured_gammas(request.max_gamma)
    arms = probing(gammas)
    planned = len(prompts) * repeats * (2 + len(arms))
    progress.expect(len(prompts) + planned + len(set(request.batches)) * repeats)

    def prompt_traced() -> None:
        traced.step()
        progress.step()

    traces = measure_traces(tracing, path=request.kept, processes=processes, progress=prompt_traced)
    every = timings(request, count=1, planned=planned, progress=progress)
    [runs] = [run_arms(subject, prompts, arms, timing, least=len(prompts)) for timing in every]
    how: dict[str, Any] = {"context": request.tokens_in_cache, "gammas": gammas}
    how |= {"repeats": repeats, "progress": progress.step}
    load = [
        load_times(target, under_load, batch=batch, **how)
        for batch in dict.fromkeys(request.batches)
        if under_load is not None
    ]
    # The commit of a hub repository; a folder has none.
    configs = [None if module is None else module.config for module in tracing.modules]
    commits = [getattr(config, "_commit_hash", None) for config in configs]
    setup = Setup(
        target=target.name,
        draft=one_draft(request.models),
        revision=dict(zip(("target", "draft"), commits, strict=True)),
        dtype=str(target.module.dtype).removeprefix("torch."),
        sampling=asdict(subject.sampling),
        draft_temperature=None if own is None else own.temperature,
        flags=request.flags,
    )
    return make_profile(
        tracing,
        traces,
        runs,
        categories=[each.category for each in loaded.texts],
        load=load,
        c_hat=c_hat(target.module, subject.drafter),
        setup=setup,
    )
