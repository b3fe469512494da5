"""`specplan figures`: the papers' figures and tables, and our own, as PNG, SVG and CSV."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import click

from estimator.validation.file import read_validation
from figures.ours.batch_size import ALPHA, FigureLoad
from figures.registry import FIGURES, Entry, find_figure, write_figure
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.setting import DEFAULT_CONTEXT
from specplan.api.deployed import DATA_SHEET, Deployed
from specplan.api.deployment import best_cost, deployment_of
from specplan.options.answer import Printed, answer
from specplan.options.command import Command, fill, is_stated
from specplan.options.declared import option, takes
from specplan.options.inputs.roofline import RooflineStated
from specplan.options.kinds import require
from specplan.reports.output import warn


@dataclass(frozen=True)
class Listed(Printed):
    """The figures to list.

    list_only: Print the names of the figures and their sources.
    """

    names: tuple[str, ...] = ()
    list_only: bool = option("--list", default=False)


@dataclass(frozen=True)
class Drawn(Printed):
    """The figures to draw, their inputs and their output folder.

    folder: Folder to write to; made if it is not there.
    formats: Any of png, svg and csv.
    results_path: Output of `specplan validate --json`, for the figures that show measurements.
    """

    names: tuple[str, ...] = ()
    folder: Path = option("-o", "--output", default=Path("figures/output"), metavar="DIR")
    formats: str = option("--format", default="png,svg,csv", metavar="LIST")
    results_path: Path | None = option("--results", metavar="FILE")


@dataclass(frozen=True)
class DeploymentOptions(Deployed):
    """The deployment that the batch-size figure shows.

    context: Tokens in the cache of each sequence.
    alpha: Acceptance rate.
    """

    context: int = option(metavar="L", default=DEFAULT_CONTEXT)
    alpha: float = option(metavar="A", default=ALPHA)


@click.command(name="figures", cls=Command)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@takes(Drawn, DeploymentOptions, Listed)
@click.pass_context
def figures_command(ctx: click.Context, /, **_: object) -> None:
    """Draw the papers' figures and tables; without NAME all of them.

    \b
    Examples:
      specplan figures list
      specplan figures leviathan-fig3 leviathan-table1 -o out/ --format png,csv
      specplan figures predicted-measured --results validation.json
      specplan figures batch-size --target-config T --draft-config D \\
        --gpu h100 --alpha 0.8

    With --target-config, --draft-config and --gpu, batch-size shows that deployment, by the cost
    model that `specplan plan` takes for it.
    """
    if ctx.params["list_only"]:
        _list(*fill(ctx, [Listed], way="--list"))
        return
    if ctx.params["names"] == ("list",):
        _list(Listed())
        return
    from tqdm import tqdm

    drawn, loaded = fill(ctx, [Drawn, DeploymentOptions])
    if drawn.folder.exists() and not drawn.folder.is_dir():
        raise ValueError(f"--output must be a folder, got the file {drawn.folder}")
    chosen = _chosen(drawn.names)
    results = None if drawn.results_path is None else read_validation(drawn.results_path)
    if results is not None and not any(entry.takes == "results" for entry in chosen):
        raise ValueError(f"--results is of no use to {', '.join(entry.name for entry in chosen)}")
    load = _load(loaded, ctx, chosen)
    formats = tuple(name.strip() for name in drawn.formats.split(","))
    written: list[Path] = []
    for entry in tqdm(chosen, unit="figure", disable=None):
        written += write_figure(entry, drawn.folder, formats=formats, results=results, load=load)
    answer(lambda: {"files": written}, lambda: "\n".join(map(str, written)), form=drawn)


def _chosen(names: tuple[str, ...]) -> tuple[Entry, ...]:
    return tuple(find_figure(name) for name in dict.fromkeys(names)) or tuple(FIGURES.values())


def _load(
    options: DeploymentOptions, ctx: click.Context, chosen: Sequence[Entry]
) -> FigureLoad | None:
    """Returns the deployment to draw, or None if no option states one."""
    given = [each.name for each in fields(DeploymentOptions) if is_stated(ctx, each.name)]
    if not given:
        return None
    require(RooflineStated, ctx, first=given[0])
    if not any(entry.takes == "load" for entry in chosen):
        raise ValueError(
            f"--target-config is of no use to {', '.join(entry.name for entry in chosen)}"
        )
    deployment = deployment_of(options)
    cost = None
    if options.cost_model != DATA_SHEET:
        cost = best_cost(options, deployment, [LoadPoint(options.context, 1)])
        for note in cost.notes:
            warn(note)
    return FigureLoad(deployment, options.context, options.alpha, cost)


def _list(options: Listed) -> None:
    entries = _chosen(options.names)
    rows = [{"name": e.name, "source": e.source, "shows": e.shows} for e in entries]
    width = max(len(entry.name) for entry in entries)
    lines = [f"{e.name:{width}}  {e.shows} ({e.source})" for e in entries]
    answer(lambda: {"figures": rows}, lambda: "\n".join(lines), form=options)
