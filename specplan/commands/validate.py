"""`specplan validate`: compares predicted with measured speed-up on real models."""

from dataclasses import dataclass
from pathlib import Path

import click

from engines.kind import EngineSettings
from engines.trials.request import ValidateEngine
from estimator.requests import Validate
from estimator.settings import TimingSettings
from estimator.timing.machine import measured_today
from specplan.options import model_options as shared
from specplan.options.answer import Pictured, Written, answer, drawable
from specplan.options.command import Command, reads
from specplan.options.declared import declare, option, rare, takes
from specplan.options.values import integers, numbers
from specplan.reports.bar import Bar
from specplan.reports.table import folded
from studies.bild import FALLBACKS, ROLLBACKS
from studies.bild.request import ValidateBild


class TestedOptions:
    """Options of validations on an engine.

    server: URL of a running server with speculation.
    """

    synthetic = rare(
        callback=numbers,
        help=f"Acceptance rates by position for {shared.taking('synthetic')} to simulate, "
        "unconditional; then only prices are tested.",
    )
    server = rare(metavar="URL")


class SweptOptions(shared.BildMeasures):
    """Options of BiLD's sweep over its two thresholds.

    windows: With --decoder bild: also draft fixed numbers of tokens, without a fallback.
    """

    fallback = rare(
        callback=numbers,
        metavar="F,F,...",
        help="With --decoder bild: the small model hands over below this certainty; a list or "
        f"range.  [default: {','.join(f'{value:g}' for value in FALLBACKS)}]",
    )
    rollback = rare(
        callback=numbers,
        metavar="R,R,...",
        help="With --decoder bild: the large model replaces tokens farther than this from its own "
        f"distribution; inf: none.  [default: {','.join(f'{value:g}' for value in ROLLBACKS)}]",
    )
    windows = rare(callback=integers, metavar="N,N,...")


declare(
    Validate,
    compiling=shared.compile_option,
    gammas=option("--gamma", callback=integers, default="1,2,4,8"),
    policy_names=option("--policy", multiple=True, default=("fixed",), metavar="POLICY"),
    max_gamma=shared.max_gamma_option,
    lenience=shared.lenience_option,
    verification=shared.verification_option,
    temperatures=option("--temperature", callback=numbers, default="0,1"),
)


class TestedDecoder:
    """The decoder, and the seed of the texts.

    decoder: bild: quality and latency over thresholds (Kim et al. 2023), at temperature 0 unless
      given, compared with speculative decoding.
    """

    decoder = option(type=click.Choice(["speculative", "bild"]), default="speculative")
    seed = shared.seed_option


@dataclass(frozen=True)
class EngineForm(Written, Pictured):
    """The form of the rows.

    wide: Show all columns, beyond 80 characters.
    """

    wide: bool = option(default=False)


@dataclass(frozen=True)
class ValidateForm(EngineForm):
    """The form of the rows, and a drawing of them.

    figure: Draw predicted against measured into this file (.png, .svg or .pdf).
    """

    figure: Path | None = option(callback=drawable)


@reads(Validate, ValidateForm)
def speculative(request: Validate, form: ValidateForm) -> None:
    """Compares predicted with measured speed-up, and prints each row as it is measured."""
    if form.figure is not None and not request.replayed:
        raise ValueError("figure needs a row that replay predicts: a fixed gamma, and no lenience")
    from estimator.validation.file import SPECULATIVE, Validated, validation_json
    from estimator.validation.validation import summary, validations
    from specplan.reports.trust import trust_lines
    from specplan.reports.validation import rows_table, summary_lines

    measured = []
    with Bar("validate", "run") as bar:
        for validation in validations(request, bar):
            measured.append(validation)
            if not form.as_json:
                bar.print(rows_table(validation, wide=form.wide) + "\n")
    rows = [row for validation in measured for row in validation.rows]
    means = summary(measured)
    said = " ".join(trust_lines(rows, means))
    prompts = min(validation.prompts for validation in measured)
    basis = measured_today(prompts, timings=means["repeats"])
    document = {"sentence": said, "basis": basis}
    document |= validation_json(SPECULATIVE, rows, summary=means)
    text = f"{summary_lines(means, measured)}\n{folded(basis)}"
    answer(lambda: document, lambda: text, form=form)
    if form.figure is not None:
        from figures.registry import FIGURES, save_image

        entry = FIGURES["predicted-measured"]
        data = entry.compute(Validated("this validation", SPECULATIVE, tuple(rows)))
        save_image(entry.draw(data), form.figure)
        click.echo(f"Wrote {form.figure}", err=True)


@reads(ValidateEngine, EngineForm)
def on_engine(request: ValidateEngine, form: EngineForm) -> None:
    """Compares predicted with measured decoding on an engine, and checks its accepted lengths."""
    from engines.trials.validation import validate
    from specplan.reports.engines import validation_data, validation_text

    with Bar("validate", "text") as bar:
        validation = validate(request, bar)
    where = "their server" if request.server else None
    basis = measured_today(validation.prompts, timings=validation.repeats, where=where)
    answer(
        lambda: validation_data(validation, basis),
        lambda: f"{validation_text(validation, wide=form.wide)}\n{folded(basis)}",
        form=form,
    )


@reads(ValidateBild, Written)
def bild(request: ValidateBild, form: Written) -> None:
    """Prints quality and speed over BiLD's thresholds, for each draft and each temperature."""
    from estimator.validation.file import BILD, validation_json
    from specplan.reports.studies import bild_text
    from studies.bild.runs import validate_thresholds
    from studies.bild.swept import fewest_repeats, worst_precision

    with Bar("validate", "run") as bar:
        sweeps, threads = validate_thresholds(request, bar)
    grid, repeats = request.grid, fewest_repeats(sweeps)
    basis = measured_today(sweeps[0].prompts, timings=repeats)
    document = validation_json(
        BILD,
        [row for one in sweeps for row in one.rows],
        basis=basis,
        certainty=grid.certainty,
        distance=grid.distance,
        most=grid.max_draft,
        summaries=[one.summary() for one in sweeps],
        prompts=sweeps[0].prompts,
        repeats=repeats,
        precision_percent=worst_precision(sweeps),
        threads=threads.count,
        free_cores=threads.free,
        top_p=request.sampling.top_p,
    )
    answer(lambda: document, lambda: f"{bild_text(sweeps, threads)}\n{folded(basis)}", form=form)


@click.command(
    "validate",
    cls=Command,
    ways={"--engine": on_engine, "--decoder bild": bild, "--decoder speculative": speculative},
)
@takes(*shared.MODEL_RECORDS, shared.DraftOptions, heading=shared.MODELS)
@takes(EngineSettings, heading=shared.ON_ENGINE)
@takes(TestedOptions, heading=shared.ON_ENGINE)
@takes(SweptOptions, heading="BiLD")
@takes(Validate, TestedDecoder, ValidateForm, TimingSettings, without=("draft_temperature",))
def validate_command(**_: object) -> None:
    """Compare predicted with measured speed-up on real models.

    Baseline, cost probes and every policy run interleaved on the same prompts. Predictions use
    costs and texts apart from the run they predict. Rows appear as they are measured.

    \b
    Example:
      specplan validate
      specplan validate --target T --draft D --gamma 2,4,8 --temperature 0,1
      specplan validate --draft embedded --draft lookup \\
        --policy fixed --policy adaptive
      specplan validate --engine llama.cpp --gamma 1,2,4,8
      specplan validate --draft 'embedded tree:-1,-1,0,0' \\
        --draft-temperature 0 --gamma 2
      specplan validate --decoder bild --fallback 0.3,0.6,0.9 --rollback 1,2,4
    """
