"""`specplan validate`: compares predicted with measured speed-up on real models."""

from pathlib import Path

import click

from specplan.options.bild_options import bild_options
from specplan.options.declared import command_option
from specplan.options.engine_options import engine_options, tested_options
from specplan.options.model_options import (
    compile_option,
    lenience_option,
    max_gamma_option,
    model_options,
    seed_option,
    timing_options,
    verification_option,
)
from specplan.options.ranges import integers, numbers
from specplan.options.requests import Command, run
from specplan.options.shared import json_option, output_option
from specplan.reports.output import writable


def drawable(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """Returns a figure's path unchanged; raises a usage error if no figure can be written there."""
    if value is not None:
        from figures.files import IMAGE_SUFFIXES

        if value.suffix.lower() not in IMAGE_SUFFIXES:
            raise click.BadParameter(f"must end in {' or '.join(IMAGE_SUFFIXES)}, got {value.name}")
    return writable(ctx, param, value)


@click.command(
    "validate",
    cls=Command,
    ways={
        "--engine": "specplan.commands.validate_work:on_engine",
        "--decoder bild": "specplan.commands.validate_work:bild",
        "--decoder speculative": "specplan.commands.validate_work:speculative",
    },
)
@model_options()
@compile_option
@engine_options
@tested_options
@command_option(
    "--gamma", "gammas", callback=integers, default="1,2,4,8", help="Drafted tokens per block."
)
@command_option(
    "--policy",
    "policy_names",
    multiple=True,
    default=["fixed"],
    metavar="POLICY",
    help="fixed (each --gamma), heuristic, confidence:P, product:P or adaptive; repeatable, a row "
    "each.",
)
@max_gamma_option
@lenience_option
@verification_option
@command_option(
    "--temperature",
    "temperatures",
    callback=numbers,
    default="0,1",
    help="Temperatures of the target, a list or range; 0 is greedy.",
)
@command_option(
    "--decoder",
    type=click.Choice(["speculative", "bild"]),
    default="speculative",
    help="bild: quality and latency over thresholds (Kim et al. 2023), at temperature 0 unless "
    "given, compared with speculative decoding.",
)
@bild_options
@timing_options
@seed_option
@command_option(
    "--figure",
    type=click.Path(path_type=Path),
    callback=drawable,
    help="Draw predicted against measured into this file (.png or .svg).",
)
@command_option("--wide", is_flag=True, help="Show all columns, beyond 80 characters.")
@output_option("Write the JSON object here.")
@json_option
@click.pass_context
def validate_command(ctx: click.Context, /, **_: object) -> None:
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
    run(ctx)
