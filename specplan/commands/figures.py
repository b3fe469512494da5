"""`specplan figures`: the papers' figures and tables, and our own, as PNG, SVG and CSV."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

import click

from estimator.timing.threads import process_pool
from estimator.validation.file import read_validation
from figures.ours.batch_size import ALPHA, FigureLoad
from figures.ours.traffic import DEMAND, Served
from figures.registry import FIGURES, Entry, find_figure, write_figure
from simulator.acceptance.acceptance import Iid
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.setting import DEFAULT_CONTEXT
from specplan.api.deployed import DATA_SHEET, Deployed
from specplan.api.deployment import best_cost, deployment_of
from specplan.api.request import Question
from specplan.api.roofline import Roofline
from specplan.api.settings import Arrivals, Batching, Simulation
from specplan.api.traffic import requested
from specplan.options.answer import Printed, answer
from specplan.options.command import Command, fill, is_stated
from specplan.options.declared import option, takes
from specplan.options.inputs.roofline import RooflineOptions
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
class ShownLoad:
    """The load of the deployment that the figures batch-size and traffic show.

    context: Tokens in the cache of each sequence, in batch-size.
    alpha: Acceptance rate.
    """

    context: int = option(metavar="L", default=DEFAULT_CONTEXT)
    alpha: float = option(metavar="A", default=ALPHA)


@click.command(name="figures", cls=Command)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@takes(Drawn, Deployed, ShownLoad, Listed)
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

    With --target-config, --draft-config and --gpu, batch-size and traffic show that deployment, by
    the cost model that `specplan plan` takes for it.
    """
    if ctx.params["list_only"]:
        _list(*fill(ctx, [Listed], way="--list"))
        return
    if ctx.params["names"] == ("list",):
        [listed] = fill(ctx, [Listed], way="list")
        _list(replace(listed, names=()))
        return
    from tqdm import tqdm

    drawn, deployed, shown = fill(ctx, [Drawn, Deployed, ShownLoad])
    if drawn.folder.exists() and not drawn.folder.is_dir():
        raise ValueError(f"--output must be a folder, got the file {drawn.folder}")
    chosen = _chosen(drawn.names)
    results = None if drawn.results_path is None else read_validation(drawn.results_path)
    if results is not None and not any(entry.takes == "results" for entry in chosen):
        raise ValueError(f"--results is of no use to {', '.join(entry.name for entry in chosen)}")
    loads = _loads(deployed, shown, ctx, chosen)
    formats = tuple(name.strip() for name in drawn.formats.split(","))
    write = partial(
        write_figure, folder=drawn.folder, formats=formats, results=results, loads=loads
    )
    with tqdm(total=len(chosen), unit="figure", disable=None) as bar:
        written: list[Path] = []
        for files in _each(chosen, write):
            written += files
            bar.update()
    answer(lambda: {"files": written}, lambda: "\n".join(map(str, written)), form=drawn)


def _each(chosen: Sequence[Entry], write: Callable[[Entry], list[Path]]) -> Iterator[list[Path]]:
    """Yields the files of each figure; several processes draw all but the first figure."""
    first, *others = chosen
    yield write(first)  # which imports what all need
    processes = min(len(others), os.cpu_count() or 1)
    if processes < 2:
        yield from map(write, others)
        return
    with process_pool(processes) as pool:
        yield from pool.map(write, others)


def _chosen(names: tuple[str, ...]) -> tuple[Entry, ...]:
    return tuple(find_figure(name) for name in dict.fromkeys(names)) or tuple(FIGURES.values())


def _loads(
    deployed: Deployed, shown: ShownLoad, ctx: click.Context, chosen: Sequence[Entry]
) -> dict[str, object]:
    """Returns the deployment to draw, by what figures take; {} if no option states one."""
    given = [
        part.name
        for record in (Deployed, ShownLoad)
        for part in fields(record)
        if is_stated(ctx, part.name)
    ]
    if not given:
        return {}
    require(RooflineOptions, ctx, first=given[0])
    makers = {"load": _load, "served": _served}
    needed = {entry.takes for entry in chosen} & makers.keys()
    if not needed:
        raise ValueError(
            f"--target-config is of no use to {', '.join(entry.name for entry in chosen)}"
        )
    return {name: makers[name](deployed, shown) for name in sorted(needed)}


def _load(deployed: Deployed, shown: ShownLoad) -> FigureLoad:
    deployment = deployment_of(deployed)
    cost = None
    if deployed.cost_model != DATA_SHEET:
        cost = best_cost(deployed, deployment, [LoadPoint(shown.context, 1)])
        for note in cost.notes:
            warn(note)
    return FigureLoad(deployment, shown.context, shown.alpha, cost)


def _served(deployed: Deployed, shown: ShownLoad) -> Served:
    """Returns the server that `specplan traffic` models, with the figure's prompts and outputs."""
    stated = {part.name: getattr(deployed, part.name) for part in fields(Deployed)}
    arrivals = Arrivals(
        (1.0,), prompt_tokens=DEMAND.prompt_tokens, output_tokens=DEMAND.output_tokens
    )
    question = Question((Iid(shown.alpha),), Roofline(**stated))
    request, *_ = requested(question, arrivals, Batching(), Simulation())
    caption = FigureLoad(deployment_of(deployed), alpha=shown.alpha).caption
    return Served(request.pair, f"{caption}, α = {shown.alpha:g}")


def _list(options: Listed) -> None:
    entries = _chosen(options.names)
    rows = [{"name": e.name, "source": e.source, "shows": e.shows} for e in entries]
    width = max(len(entry.name) for entry in entries)
    lines = [f"{e.name:{width}}  {e.shows} ({e.source})" for e in entries]
    answer(lambda: {"figures": rows}, lambda: "\n".join(lines), form=options)
