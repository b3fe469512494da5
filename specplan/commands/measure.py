"""`specplan measure`: measures alpha, c and the cost curves of real models."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from engines.kind import EngineSettings
from engines.trials.request import MeasureEngine
from estimator.requests import Measure, MeasureTexts
from estimator.settings import MOST_GAMMA, TimingSettings
from specplan.options import model_options as shared
from specplan.options.answer import Printed, Written, output_option, stated_command
from specplan.options.command import Command, reads
from specplan.options.declared import COUNT, Whole, declare, option, takes
from specplan.options.values import contexts, integers
from specplan.reports.bar import Bar, Kept
from specplan.reports.output import STDOUT, describe, print_json, warn
from specplan.reports.table import folded

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from estimator.timing.threads import Processes


# Options of models, which have a heading of their own in the help.
_OF_MODELS = ("draft_temperature", "drafts", "force")

declare(
    Measure,
    compiling=shared.compile_option,
    verification=shared.verification_option,
    max_gamma=option(type=Whole(1, MOST_GAMMA)),
    batch_size=option(type=COUNT),
    batches=option("--batch", callback=integers, metavar="B,B,..."),
    context=option(callback=contexts, metavar="L,L,..."),
    output=output_option(),
)
declare(
    MeasureTexts,
    texts=option(metavar="LOG"),
    tokenizer=option(metavar="NAME|FOLDER"),
    processes=option(type=COUNT),
)


class SeedOptions:
    """The seed.

    seed: Seed of the texts.
    """

    seed = option(type=Whole(0), default=0)


@reads(Measure, Written)
def own(request: Measure, form: Written) -> None:
    from estimator.profiles.measure import measure
    from specplan.reports.profile import profile_text

    kept = Kept(form.output if request.keeps_traces else None)
    with kept.summarised(), Bar("measure", "run") as bar:
        profile = measure(request, bar, traced=kept, refusing=refusing_together)
    if profile is not None:
        _print(profile, form, profile_text)


@reads(MeasureEngine, Written)
def on_engine(request: MeasureEngine, form: Written) -> None:
    from engines.trials.measurement import measure
    from specplan.reports.engines import measurement_notes
    from specplan.reports.profile import profile_text

    with Bar("measure", "text") as bar:
        profile, line_error = measure(request, bar)
    notes = measurement_notes(request, line_error)
    _print(profile, form, lambda measured: f"{profile_text(measured)}\n{notes}")


@reads(MeasureTexts, Written)
def texts(request: MeasureTexts, form: Written) -> None:
    """Measures how many tokens of recorded texts a copying draft would get accepted."""
    from estimator.texts.measure import measure
    from specplan.reports.profile import texts_profile

    with Bar("measure", "part") as bar:
        profile, counts = measure(request, bar)
    if counts.skipped:
        warn(f"{counts.skipped} lines left out, the first: {counts.first_skipped}")
    _print(profile, form, texts_profile)


def _print(profile: Profile, form: Written, text: Callable[[Profile], str]) -> None:
    """Prints a profile as JSON or as text; its file, which was written before, gets the command."""
    from estimator.profiles.profile_file import profile_json, write_profile

    software = replace(profile.setup.software, command=stated_command())
    profile = replace(profile, setup=replace(profile.setup, software=software))
    if form.output not in (None, STDOUT):
        write_profile(profile, form.output)
    if form.as_json:
        print_json(profile_json(profile))
        return
    click.echo(folded(text(profile)))
    if form.output is not None:
        click.echo(f"\nWrote {form.output}; plan with it: specplan plan --profile {form.output}")


@contextmanager
def refusing_together(processes: Processes) -> Iterator[None]:
    """Context in which all processes of a launcher end if one of them rejects its input.

    The first process prints the reason in one line, and only it prints warnings. A single process
    raises its errors as usual. All processes must enter this context, and not communicate inside.
    """
    if processes.count == 1:
        yield
        return
    refusal: tuple[str, int] | None = None
    with nullcontext() if processes.first else redirect_stderr(io.StringIO()):
        try:
            yield
        except (click.ClickException, ValueError, OSError) as error:
            refusal = describe(error)
    every = processes.gathered(refusal)
    refused = [(number, *refusal) for number, refusal in enumerate(every) if refusal is not None]
    if not refused:
        return
    number, message, status = refused[0]
    if processes.first:
        where = "" if number == 0 else f"process {number}: "
        click.echo(f"Error: {where}{' '.join(message.split())}", err=True)
    # Launchers stop all processes when one ends, so the message is printed before any ends.
    processes.gathered(None)
    raise click.exceptions.Exit(status)


@click.command("measure", cls=Command, ways={"--texts": texts, "--engine": on_engine, "": own})
@takes(*shared.MODEL_RECORDS, shared.DraftOptions, heading=shared.MODELS)
@takes(EngineSettings, heading=shared.ON_ENGINE)
@takes(Measure, MeasureTexts, SeedOptions, Printed, TimingSettings, without=_OF_MODELS)
def measure_command(**_: object) -> None:
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
      specplan measure --texts log.jsonl --draft suffix --tokenizer T -o profile.json
      torchrun --nproc-per-node 8 -m specplan measure --target T --draft D \\
        --dataset HuggingFaceH4/mt_bench_prompts --num-prompts 80 -o profile.json
    """
