"""`specplan measure`: alpha, c and the cost curves of real models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.engine_options import engine_options
from specplan.options.model_options import (
    MOST_GAMMA,
    ModelOptions,
    compile_option,
    model_options,
    verification_option,
)
from specplan.options.ranges import integers
from specplan.options.requests import Command
from specplan.reports.kept import Kept
from specplan.reports.output import folded, print_json, writable
from specplan.reports.profile import profile_text

if TYPE_CHECKING:
    from estimator.loading.pairs import Loaded
    from estimator.profiles.profile import Setup
    from estimator.runs.arms import Subject


@click.command("measure", cls=Command)
@model_options
@engine_options("specplan.commands.on_engine:measure_on_engine")
@compile_option
@verification_option
@click.option("--temperature", type=float, default=1.0, help="Of the target; 0 is greedy.")
@click.option(
    "--max-gamma", type=click.IntRange(1, MOST_GAMMA), default=16, help="Longest draft to price."
)
@click.option("--repeats", type=click.IntRange(min=1), default=3, help="Timings of each run.")
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=1,
    help="Texts that the target writes at once for alpha; costs are those of batch 1.",
)
@click.option(
    "--batch",
    "batches",
    callback=integers,
    metavar="B,B,...",
    help="Time passes over so many sequences together, too, for 'plan --profile P --batch'.",
)
@click.option(
    "--context",
    type=click.IntRange(min=1),
    default=128,
    help="Tokens in the cache of each of these.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of the texts.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=writable,
    help="Write the profile here, and its traces beside it as FILE.traces.npz; a run that was "
    "interrupted keeps those of finished prompts and times anew.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the profile as one JSON object.")
def measure_command(
    options: ModelOptions,
    compiling: str,
    verification: str,
    temperature: float,
    max_gamma: int,
    repeats: int,
    batch_size: int,
    batches: tuple[int, ...] | None,
    context: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measure alpha, c and the cost curves of real models.

    The target writes text, the draft scores it in one parallel pass: alpha is the mean of
    sum min(p, q). Costs come from the decoder's own blocks, baseline and probes interleaved.
    Under torchrun the texts are shared out among the processes, and the first one times.

    \b
    Example:
      specplan measure --target Qwen/Qwen3-8B --draft Qwen/Qwen3-0.6B \\
        --prompts my.jsonl -o profile.json
      specplan plan --profile profile.json
      specplan measure --engine llama.cpp -o profile.json
      torchrun --nproc-per-node 8 -m specplan measure --target T --draft D \\
        --dataset HuggingFaceH4/mt_bench_prompts --num-prompts 80 -o profile.json
    """
    from functools import partial

    from tqdm import tqdm

    from estimator.costs.operations import c_hat
    from estimator.costs.under_load import require_load
    from estimator.draft_model import draft_model
    from estimator.drafters.registry import parse_drafter
    from estimator.loading.origins import own_hashes
    from estimator.loading.pairs import (
        draft_names,
        load,
    )
    from estimator.profiles.measured_costs import (
        load_costs,
        measure_costs,
        measured_gammas,
        replayed_gamma,
    )
    from estimator.profiles.measurement import Measurements, make_profile
    from estimator.profiles.profile_file import profile_json, write_profile
    from estimator.rules.registry import acceptance_rule
    from estimator.runs.arms import Subject
    from estimator.runs.batched import batch_module
    from estimator.runs.processes import these_processes
    from estimator.runs.room import require_room
    from estimator.settings import draft_sampling
    from estimator.traces.agreement import described, require_agreement
    from estimator.traces.measured_traces import TraceSettings, measure_traces
    from estimator.traces.trace_file import require_place, traces_path
    from reference.atomic.held import held
    from specplan.reports.together import refusing_together

    processes = these_processes()
    with refusing_together(processes):
        names = draft_names(options.models)
        if len(names) > 1:
            raise ValueError(f"draft must be given once, got {', '.join(names)}")
        unmeasured = parse_drafter(names[0]).unmeasured
        if unmeasured is not None:
            what, _, instead = unmeasured.partition(": ")
            raise ValueError(f"draft must not be {what}, got {names[0]}: {instead}")
        # A device has nothing beside it.
        lasting = output is not None and (output.is_file() or not output.exists())
        kept = traces_path(output) if output is not None and lasting else None
        if output is not None and kept is not None and processes.first:
            click.get_current_context().with_resource(held(output))
            require_place(kept)
        if options.device_map is not None and processes.here > 1:
            raise ValueError(
                "device_map needs a machine's devices for one process, got "
                f"{processes.here} processes here"
            )
        sampling = options.settings.at(temperature)
        loaded = load(
            options.models, options.text, sampling=options.settings, compiling=compiling,
            gammas=measured_gammas(max_gamma),
        )
        [(name, drafter_of)] = loaded.drafters.items()
        subject = Subject(
            loaded.target,
            drafter_of(draft_sampling(sampling, options.draft_temperature)),
            sampling,
            loaded.stopping,
            acceptance_rule(verification),
        )
        prompts = loaded.prompts
        require_room(subject, prompts)
        if batch_size > 1:
            batch_module(loaded.target, [loaded.target.beginning(prompt) for prompt in prompts])
        loads = tuple(dict.fromkeys(batches or ()))
        loaded_draft = (
            require_load(
                loaded.target,
                draft_model(subject.drafter),
                batches=loads,
                context=context,
                max_gamma=max_gamma,
                draft_name=name,
            )
            if loads
            else None
        )
    settings = TraceSettings(replayed_gamma(max_gamma), seed, batch_size, tuple(loaded.origins))
    if processes.count > 1:
        told = processes.gathered(
            described(subject, prompts, settings)
            | {"files of the draft": ", ".join(own_hashes(parse_drafter(name)))}
        )
        with refusing_together(processes):
            require_agreement(told)
    traced = partial(measure_traces, subject, prompts, settings, processes=processes)
    if not processes.first:
        # Nothing is left for it to do, and the first is to time undisturbed.
        traced(path=None, progress=lambda: None)
        return
    bar = tqdm(
        total=len(prompts) * (1 + 3 * repeats) + len(loads) * repeats,
        desc="measure",
        unit="run",
        disable=not sys.stderr.isatty(),
    )
    with Kept(len(prompts), output if lasting else None) as told_of, bar:
        traces = traced(path=kept, progress=told_of.counting(bar.update))
        runs = measure_costs(
            subject,
            prompts,
            max_gamma=max_gamma,
            repeats=repeats,
            seed=seed,
            progress=bar.update,
        )
        under_load = [
            load_costs(
                loaded.target,
                loaded_draft,
                batch=batch,
                context=context,
                max_gamma=max_gamma,
                repeats=repeats,
                progress=bar.update,
            )
            for batch in loads
            if loaded_draft is not None
        ]
    profile = make_profile(
        Measurements(
            subject,
            prompts,
            settings,
            max_gamma=max_gamma,
            pairs=traces,
            runs=runs,
            categories=loaded.categories,
            load=under_load,
        ),
        c_hat=c_hat(loaded.target.module, subject.drafter),
        setup=_setup(name, loaded, subject, flags=_flags(options, compiling)),
    )
    if output is not None:
        write_profile(profile, output)
    if as_json:
        print_json(profile_json(profile))
        return
    click.echo(folded(profile_text(profile)))
    if output is not None:
        click.echo(f"\nWrote {output}; plan with it: specplan plan --profile {output}")


def _flags(options: ModelOptions, compiling: str) -> tuple[str, ...]:
    """Returns the options that say how the models' passes ran, where they were given."""
    given = {
        "--compile": None if compiling == "off" else compiling,
        "--device-map": options.device_map,
    }
    return tuple(f"{name} {value}" for name, value in given.items() if value is not None)


def _setup(
    name: str, loaded: Loaded, subject: Subject, *, flags: tuple[str, ...]
) -> Setup:
    """Returns what the profile says of the models and the sampling."""
    from dataclasses import asdict

    from estimator.draft_model import draft_model, transformers_module
    from estimator.profiles.profile import Setup

    modules = {
        "target": loaded.target.module,
        "draft": transformers_module(draft_model(subject.drafter)),
    }
    own = subject.drafter.sampling
    return Setup(
        target=loaded.target.name,
        draft=name,
        # The commit of a hub repository; a folder has none.
        revision={
            role: None if module is None else getattr(module.config, "_commit_hash", None)
            for role, module in modules.items()
        },
        dtype=str(loaded.target.module.dtype).removeprefix("torch."),
        sampling=asdict(subject.sampling),
        draft_temperature=None if own is None else own.temperature,
        flags=flags,
    )
