"""`specplan figures`: the papers' figures and tables, and our own, as PNG, SVG and CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.deployment import DeploymentOptions, deployment_options
from specplan.options.json_option import json_option
from specplan.options.roofline import deployment_of
from specplan.options.stated import given
from specplan.reports.output import print_json

if TYPE_CHECKING:
    from figures.drawing.load import Load
    from figures.registry import Entry

_DEFAULT_FOLDER = Path("figures/output")


@click.command(name="figures")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    default=_DEFAULT_FOLDER,
    metavar="DIR",
    help="Folder to write to; made if it is not there.",
)
@click.option(
    "--format", "formats", default="png,svg,csv", metavar="LIST", help="Any of png, svg and csv."
)
@click.option(
    "--results",
    "results_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Output of `specplan validate --json`, for the figures that show measurements.",
)
@deployment_options
@click.option("--context", type=int, metavar="L", help="Tokens cached.  [default: 512]")
@click.option("--alpha", type=float, metavar="A", help="Acceptance rate.  [default: 0.7]")
@click.option("--list", "list_only", is_flag=True, help="Name the figures and their sources.")
@json_option
def figures_command(
    names: tuple[str, ...],
    folder: Path,
    formats: str,
    results_path: Path | None,
    deployment: DeploymentOptions,
    context: int | None,
    alpha: float | None,
    list_only: bool,
    as_json: bool,
) -> None:
    """Draw the papers' figures and tables; without NAME all of them.

    \b
    Examples:
      specplan figures
      specplan figures leviathan-fig3 leviathan-table1 -o out/ --format png,csv
      specplan figures predicted-measured --results validation.json
      specplan figures batch-size --target-config T --draft-config D \\
        --gpu h100 --alpha 0.8

    With --target-config, --draft-config and --gpu, batch-size shows that deployment.
    """
    from figures.registry import FIGURES, find_figure

    chosen = tuple(find_figure(name) for name in dict.fromkeys(names)) or tuple(FIGURES.values())
    if list_only:
        _list(chosen, as_json=as_json)
        return
    from tqdm import tqdm

    from estimator.validation.file import read_validation
    from figures.files import write_figure

    results = None if results_path is None else read_validation(results_path)
    if results is not None and not any(entry.takes_results for entry in chosen):
        raise ValueError(f"--results is of no use to {', '.join(entry.name for entry in chosen)}")
    load = _load(deployment, context=context, alpha=alpha)
    if load is not None and not any(entry.takes_load for entry in chosen):
        raise ValueError(
            f"--target-config is of no use to {', '.join(entry.name for entry in chosen)}"
        )
    written: list[Path] = []
    for entry in tqdm(chosen, unit="figure", disable=None):
        written += write_figure(
            entry,
            folder,
            formats=tuple(name.strip() for name in formats.split(",")),
            results=results,
            load=load,
        )
    if as_json:
        print_json({"files": written})
    else:
        click.echo("\n".join(map(str, written)))


def _load(
    options: DeploymentOptions, *, context: int | None, alpha: float | None
) -> Load | None:
    """Returns what is deployed, or None if no option asks for it."""
    stated = {"--context": context, "--alpha": alpha}
    deployment = deployment_of(options, also=given(stated))
    if deployment is None:
        return None
    from figures.drawing.load import ALPHA, CONTEXT, load_of

    return load_of(
        deployment,
        context=CONTEXT if context is None else context,
        alpha=ALPHA if alpha is None else alpha,
    )


def _list(entries: tuple[Entry, ...], *, as_json: bool) -> None:
    if as_json:
        rows = [{"name": e.name, "source": e.source, "shows": e.shows} for e in entries]
        print_json({"figures": rows})
        return
    width = max(len(entry.name) for entry in entries)
    for entry in entries:
        click.echo(f"{entry.name:{width}}  {entry.shows} ({entry.source})")
