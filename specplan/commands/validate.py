"""`specplan validate`: predicted against measured speed-up on real models."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.bild_options import BildOptions, bild_options, given, refuse_with_bild
from specplan.options.engine_options import engine_options
from specplan.options.json_option import json_option
from specplan.options.model_options import (
    MOST_GAMMA,
    ModelOptions,
    compile_option,
    lenience_option,
    model_options,
    verification_option,
)
from specplan.options.ranges import integers, numbers
from specplan.options.requests import Command
from specplan.options.timing import precision_option, repeats_option
from specplan.reports.output import print_json, writable, write_json

if TYPE_CHECKING:
    from estimator.runs.arms import Subject
    from estimator.validation.validation import Validation
    from reference.policies.policy import Policy


def drawable(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """Returns a figure's path as given; refuses it at once if no figure can be written there.

    Raises:
      click.BadParameter: as writable, or if the suffix is none of an image that is drawn.
    """
    if value is not None:
        from figures.files import IMAGE_SUFFIXES

        if value.suffix.lower() not in IMAGE_SUFFIXES:
            raise click.BadParameter(
                f"must end in {' or '.join(IMAGE_SUFFIXES)}, got {value.name}"
            )
    return writable(ctx, param, value)


@click.command("validate", cls=Command)
@model_options
@compile_option
@engine_options("specplan.commands.on_engine:validate_on_engine")
@click.option(
    "--gamma", "gammas", callback=integers, default="1,2,4,8", help="Drafted tokens per block."
)
@click.option(
    "--policy",
    "policy_names",
    multiple=True,
    default=["fixed"],
    metavar="POLICY",
    help="fixed (each --gamma), heuristic, confidence:P or adaptive; repeatable, a row for each.",
)
@click.option(
    "--max-gamma",
    type=click.IntRange(min=1, max=MOST_GAMMA),
    default=16,
    help="Longest draft of policies other than fixed.",
)
@lenience_option
@verification_option
@click.option(
    "--temperature",
    "temperatures",
    callback=numbers,
    default="0,1",
    help="Of the target, a list or range; 0 is greedy.",
)
@click.option(
    "--decoder",
    type=click.Choice(["speculative", "bild"]),
    default="speculative",
    help="bild: quality and latency over thresholds (Kim et al. 2023), at temperature 0 unless "
    "given, with speculative decoding beside it.",
)
@bild_options
@repeats_option
@precision_option
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of texts and order.")
@click.option(
    "--figure",
    type=click.Path(path_type=Path),
    callback=drawable,
    help="Draw predicted against measured into this file (.png or .svg).",
)
@click.option("--wide", is_flag=True, help="Show all columns, beyond 80 characters.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=writable,
    help="Write the JSON object here.",
)
@json_option
def validate_command(
    options: ModelOptions,
    compiling: str,
    gammas: tuple[int, ...],
    policy_names: tuple[str, ...],
    max_gamma: int,
    lenience: float,
    verification: str,
    temperatures: tuple[float, ...],
    decoder: str,
    bild: BildOptions,
    repeats: int,
    precision: float,
    seed: int,
    figure: Path | None,
    wide: bool,
    output: Path | None,
    as_json: bool,
) -> None:
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
    from estimator.runs.processes import require_one_process

    require_one_process("validate")
    if decoder == "bild":
        from specplan.commands.validate_bild import validate_bild

        refuse_with_bild(
            [
                "policy_names", "figure", "precision", "wide", "draft_temperature", "compiling",
                "verification",
            ]
        )  # fmt: skip
        most = given("max_gamma", max_gamma)
        validate_bild(
            options,
            bild.grid(gammas=gammas, lenience=lenience, most=most),
            temperatures=(0.0,) if given("temperatures", True) is None else temperatures,
            repeats=repeats,
            seed=seed,
            output=output,
            as_json=as_json,
        )
        return
    bild.require_absent()
    from tqdm import tqdm

    from estimator.loading.pairs import (
        draft_names,
        load,
        require_rule,
    )
    from estimator.rules.registry import acceptance_rule
    from estimator.runs.arms import Subject
    from estimator.runs.room import require_room
    from estimator.settings import draft_sampling
    from estimator.validation.file import SPECULATIVE, Validated, validation_json
    from estimator.validation.summary import summary
    from estimator.validation.validation import generations, validate
    from specplan.options.policy_names import parse_policies
    from specplan.reports.validation import rows_table, summary_lines

    policies = parse_policies(policy_names, gammas=gammas, max_gamma=max_gamma)
    rule = acceptance_rule(verification, lenience)
    targets = [options.settings.at(temperature) for temperature in dict.fromkeys(temperatures)]
    samplings = [
        (sampling, draft_sampling(sampling, options.draft_temperature)) for sampling in targets
    ]
    replayed = rule.lossless or any(sampling.greedy for sampling in targets)
    if figure is not None and not (replayed and "fixed" in policy_names):
        raise ValueError("figure needs a row that replay predicts: a fixed gamma, and no lenience")
    names = draft_names(options.models)
    require_rule(names, rule)
    loaded = load(
        options.models,
        options.text,
        sampling=options.settings,
        compiling=compiling,
        gammas=gammas if set(policy_names) == {"fixed"} else (*gammas, max_gamma),
    )
    prompts = loaded.prompts
    subjects = [
        Subject(loaded.target, drafter_of(drafted_by), sampling, loaded.stopping, rule)
        for drafter_of in loaded.drafters.values()
        for sampling, drafted_by in samplings
    ]
    for subject in subjects:
        require_foretold(subject, list(policies.values()))
        require_room(subject, prompts)
    planned = generations(prompts, policies, max_gamma=max_gamma, repeats=repeats)
    validations: list[Validation] = []
    with tqdm(
        total=len(subjects) * planned,
        desc="validate",
        unit="run",
        disable=not sys.stderr.isatty(),
    ) as bar:
        for subject in subjects:
            done = bar.n
            validation = validate(
                subject,
                prompts,
                policies,
                max_gamma=max_gamma,
                repeats=repeats,
                precision=precision,
                seed=seed,
                progress=bar.update,
            )
            validations.append(validation)
            bar.total -= planned - (bar.n - done)   # repeats that were not needed
            if not as_json:
                with bar.external_write_mode():
                    click.echo(rows_table(validation, wide=wide) + "\n")
    found = summary(validations)
    rows = [row for validation in validations for row in validation.rows]
    result = validation_json(SPECULATIVE, rows, summary=asdict(found))
    if output is not None:
        write_json(result, output)
    if as_json:
        print_json(result)
    else:
        click.echo(summary_lines(found, validations, len(prompts)))
    if figure is not None:
        from figures.beyond_papers.predicted_measured import save

        save(Validated("this validation", SPECULATIVE, tuple(rows)), figure)
        click.echo(f"Wrote {figure}", err=True)


def require_foretold(subject: Subject, policies: Sequence[Policy | None]) -> None:
    """Refuses trees of which replay cannot tell the calls.

    Raises:
      ValueError: naming what must be.
    """
    from reference.drafters.trees import TreeDrafter
    from reference.policies.policy import Fixed

    drafter = subject.drafter
    if not isinstance(drafter, TreeDrafter):
        return
    if len(policies) > 1 or not isinstance(policies[0], Fixed):
        raise ValueError(
            f"gamma must be one number for {drafter.name}, its depth, got {len(policies)} policies"
        )
    if not drafter.sampling.greedy:
        raise ValueError(
            f"draft_temperature must be 0 for {drafter.name}, got "
            f"{drafter.sampling.temperature:g}: what trees of drawn tokens accept cannot be "
            "foretold; specplan generate runs them"
        )
