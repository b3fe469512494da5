"""`specplan validate`: predicted against measured speed-up on real models."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specplan.model_options import ModelOptions, model_options
from specplan.output import print_json, warn, writable
from specplan.ranges import integers, numbers

if TYPE_CHECKING:
    from estimator.validation import Validation


@click.command("validate")
@model_options
@click.option(
    "--gamma", "gammas", callback=integers, default="1,2,4,8", help="Drafted tokens per block."
)
@click.option("--temperature", "temperatures", callback=numbers, default="0,1")
@click.option("--repeats", type=click.IntRange(min=1), default=3, help="Timings of each run.")
@click.option("--seed", type=click.IntRange(min=0), default=0)
@click.option(
    "--figure",
    type=click.Path(path_type=Path),
    callback=writable,
    help="Draw predicted against measured into this file (.png, .svg or .pdf).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def validate_command(
    options: ModelOptions,
    gammas: tuple[int, ...],
    temperatures: tuple[float, ...],
    repeats: int,
    seed: int,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Compare predicted with measured speed-up on real models.

    Baseline, cost probes and every gamma run interleaved on the same prompts. Predictions use
    costs and texts apart from the run they predict.

    \b
    Example:
      specplan validate
      specplan validate --target T --draft D --gamma 2,4,8 --temperature 0,1
    """
    from tqdm import tqdm

    from estimator.arms import Subject
    from estimator.validation import validate
    from reference.sampling import Sampling
    from specplan.loading import load
    from specplan.policy_names import fixed_policies

    policies = fixed_policies(gammas)
    samplings = [
        Sampling(temperature=temperature, top_k=options.top_k, top_p=options.top_p)
        for temperature in temperatures
    ]
    loaded = load(options)
    runs = len(loaded.drafters) * len(samplings) * len(loaded.prompts) * repeats
    validations = []
    with tqdm(
        total=runs * (len(policies) + 3), desc="validate", unit="run", disable=not sys.stderr.isatty()
    ) as bar:
        for drafter_of in loaded.drafters.values():
            for sampling in samplings:
                subject = Subject(loaded.target, drafter_of(sampling), sampling, loaded.stopping)
                validations.append(
                    validate(
                        subject,
                        loaded.prompts,
                        policies,
                        max_gamma=max(gammas),
                        repeats=repeats,
                        seed=seed,
                        progress=bar.update,
                    )
                )
    result = as_data(validations)
    if figure is not None:
        _draw(result, figure)
    if as_json:
        print_json(result)
        return
    from specplan.validate_report import report

    click.echo(report(result, validations, len(loaded.prompts), repeats))


def as_data(validations: Sequence[Validation]) -> dict[str, Any]:
    """Returns rows and summary as JSON knows them."""
    from dataclasses import asdict

    rows = [
        {**asdict(row), "error_percent": row.error_percent}
        for validation in validations
        for row in validation.rows
    ]
    errors = [abs(row["error_percent"]) for row in rows if row["error_percent"] is not None]
    return {
        "rows": rows,
        "summary": {
            "mean_abs_error_percent": sum(errors) / len(errors) if errors else None,
            "max_abs_error_percent": max(errors) if errors else None,
            "noise_percent": max(validation.noise_percent for validation in validations),
        },
    }


def _draw(result: dict[str, Any], figure: Path) -> None:
    """Draws predicted against measured."""
    from figures.predicted_measured import save  # type: ignore[attr-defined]

    save(result, figure)
    warn(f"wrote {figure}")
