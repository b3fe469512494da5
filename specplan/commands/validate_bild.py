"""`specplan validate --decoder bild`: quality against latency over BiLD's thresholds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specplan.options.model_options import ModelOptions
from specplan.reports.output import print_json, warn, write_json

if TYPE_CHECKING:
    from studies.bild.grid import Grid


def validate_bild(
    options: ModelOptions,
    grid: Grid,
    *,
    temperatures: Sequence[float],
    repeats: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Sweeps the grid with each draft at each temperature, and prints what came of it.

    Raises:
      ValueError: if an option is out of range, or references are not as many as prompts.
    """
    from tqdm import tqdm

    from estimator.loading.pairs import load
    from estimator.prompt_files import whole_references
    from estimator.runs.arms import Subject
    from estimator.runs.room import require_room
    from estimator.validation.file import validation_json
    from reference.drafters.model_drafter import ModelDrafter
    from studies.bild.sweep import sweep

    samplings = [options.settings.at(temperature) for temperature in dict.fromkeys(temperatures)]
    loaded = load(options.models, options.text, sampling=options.settings)
    references = whole_references(loaded.references[: len(loaded.prompts)])
    subjects = [
        Subject(loaded.target, drafter_of(sampling), sampling, loaded.stopping)
        for drafter_of in loaded.drafters.values()
        for sampling in samplings
    ]
    for subject in subjects:
        require_room(subject, loaded.prompts)
        if isinstance(subject.drafter, ModelDrafter):
            warn_of_size(loaded.target.module, subject.drafter)
    arms = len(grid.arms(frozenset(), 1)) + len(grid.probes(frozenset())) + 2
    runs = len(subjects) * arms * len(loaded.prompts) * repeats
    with tqdm(total=runs, desc="validate", unit="run", disable=not sys.stderr.isatty()) as bar:
        sweeps = [
            sweep(
                subject,
                loaded.prompts,
                grid,
                texts_of=lambda ids: str(loaded.tokenizer.decode(ids, skip_special_tokens=True)),
                references=references,
                repeats=repeats,
                seed=seed,
                progress=bar.update,
            )
            for subject in subjects
        ]
    result = validation_json(
        "bild",
        [row for swept in sweeps for row in swept.rows],
        certainty=grid.measure,
        distance=grid.distance,
        most=grid.most,
        summaries=[swept.summary.data() for swept in sweeps],
        prompts=len(loaded.prompts),
        repeats=repeats,
        top_p=options.top_p,
    )
    if output is not None:
        write_json(result, output)
    if as_json:
        print_json(result)
    else:
        from specplan.reports.bild import report

        click.echo(report(sweeps, prompts=len(loaded.prompts), repeats=repeats))


def warn_of_size(target_module: Any, drafter: Any) -> None:
    """Warns of a small model with more weights than the large one."""
    from estimator.draft_model import draft_model, transformers_module

    small = draft_model(drafter)
    module = None if small is None else transformers_module(small)
    if module is not None and module.num_parameters() > target_module.num_parameters():
        warn(
            f"the small model {drafter.name} has {module.num_parameters():,} weights, more than "
            f"the large one's {target_module.num_parameters():,}"
        )
