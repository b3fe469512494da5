"""Options of `specplan observe`: sources, times, and the form of the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from engines.kind import names_of
from specplan.options.answers import Printed
from specplan.options.costs.profile import Profiled
from specplan.options.declared import COUNT, option, rare
from specplan.options.draft_kind import DraftNamed, law_of
from specplan.options.kinds import Background, CostKind, any_stated, chosen_cost, cost_kinds, prices
from specplan.options.requests import fill, is_stated
from specplan.options.runs import Runs, completed
from specplan.reports.output import writable

if TYPE_CHECKING:
    from engines.observing.observation import Observation
    from simulator.cost.fitted.runs import Run
    from simulator.cost.pricing import Pricing


_ADDRESS = re.compile(r"[\w.-]+:\d+(/.*)?")


def addresses(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Returns the sources, with HOST:PORT turned into a URL unless a file has that name."""
    if values.count("-") > 1:
        raise click.BadParameter("- (stdin) must be given once, got 2")
    return tuple(
        f"http://{value}" if _ADDRESS.fullmatch(value) and not Path(value).exists() else value
        for value in values
    )


@dataclass(frozen=True)
class Sources(DraftNamed):
    """Metrics pages, logs and other files to read counts from; see each option's help."""

    sources: tuple[str, ...] = ()
    gamma: int | None = option(
        type=COUNT, metavar="G", help="Drafted tokens per block, where the source does not have it."
    )
    interval: float | None = option(
        type=click.FloatRange(min=0, min_open=True),
        metavar="S",
        help="Read twice, S seconds apart, and take what was counted between.",
    )
    timeout: float = rare(
        type=click.FloatRange(min=0, min_open=True),
        default=30.0,
        metavar="S",
        help="Refuse an answer of a server that takes longer than S seconds in all.",
    )


@dataclass(frozen=True)
class Followed(Sources):
    """Sources that are read at every interval."""

    follow: bool = option(default=False, help="Print a line every --interval until Ctrl-C.")


@dataclass(frozen=True)
class Observed(Sources, Printed):
    """Sources that are read once, and the form of the answer; see each option's help."""

    since: tuple[str, ...] = option(
        type=click.Path(),
        multiple=True,
        default=(),
        metavar="FILE",
        help="An earlier scrape of the same server, to be subtracted; of several sources one each.",
    )
    draft_sampling: Literal["argmax", "sampled"] | None = rare(
        type=click.Choice(["argmax", "sampled"]),
        help="How the deployment drafts, for the profile; counters do not show it.  "
        "[default: argmax]",
    )
    output: Path | None = option(
        "-o",
        "--output",
        callback=writable,
        metavar="FILE",
        help="Write a profile here, to plan with.",
    )
    server: str | None = option(
        "--export",
        type=click.Choice(names_of(lambda kind: kind.exports)),
        help="Print only what sets the advised gamma there.",
    )


@dataclass(frozen=True)
class ObserveArguments:
    """A request to `specplan observe`.

    reading: the sources; an Observed if there is one answer.
    background: inputs that costs share.
    costs: cost of blocks; None: from the sources' times, if they have any.
    """

    reading: Followed | Observed
    background: Background
    costs: CostKind | None = None

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that a user states."""
        return (self.costs.runs or ()) if isinstance(self.costs, Runs) else ()

    def completed(self, observation: Observation) -> ObserveArguments:
        """Returns the request with an observation's lengths for the runs that lack them."""
        if not isinstance(self.costs, Runs):
            return self
        law = observation.acceptance(law_of(self.reading.draft_kind))
        runs = completed(self.runs, law, observation.counted)
        return replace(self, costs=replace(self.costs, runs=runs or None))

    def price(self, run: Run | None = None) -> Pricing | None:
        """Returns the cost of blocks; None if it is not known.

        run: the observation as a run, which joins the runs that a user states.
        """
        if self.costs is None:
            if run is None:
                return None
            from simulator.cost.fitted.by_batch import price_of_runs

            return price_of_runs((run,))
        costs = self.costs
        if run is not None and isinstance(costs, Runs):
            from simulator.cost.fitted.runs import require_consistent

            runs = (*self.runs, run)
            require_consistent(runs)
            costs = replace(costs, runs=runs)  # type: ignore[call-arg]
        found = prices(costs, self.background)
        if run is not None and len(found) > 1:
            found = tuple(each for each in found if each.point == run.load) or found
        if len(found) > 1:
            raise click.UsageError(
                f"observe takes one cost, got {len(found)}: state one c, one load"
            )
        return found[0]


def asked(ctx: click.Context) -> ObserveArguments:
    """Returns the request that the command's options state."""
    follows = ctx.params["follow"]
    records: list[type] = [Followed if follows else Observed, Profiled]
    costing = None
    if not any_stated(cost_kinds(), ctx):
        if follows:
            require_planned(ctx, planned=False)
    else:
        costing = chosen_cost(ctx)
        records.append(costing)
    reading, file, *costs = fill(ctx, records, way="--follow" if follows else "")
    if not follows:
        _require_fit(reading)
    background = Background(file.read(), max_gamma=reading.max_gamma)
    asking = ObserveArguments(reading, background, *costs)
    if all(run.counted for run in asking.runs):
        asking.price()  # Refuses options before anything is read.
    return asking


def require_planned(ctx: click.Context, *, planned: bool) -> None:
    """Raises click.UsageError if --max-gamma or --export is given but nothing is planned."""
    for name, flag in (("max_gamma", "--max-gamma"), ("server", "--export")):
        if not planned and is_stated(ctx, name):
            raise click.UsageError(f"{flag} needs a cost, such as --c: nothing is planned")


def _require_fit(reading: Observed) -> None:
    if reading.since and reading.interval is not None:
        raise click.UsageError("--interval cannot be combined with --since")
    if reading.since and len(reading.since) != len(reading.sources):
        raise click.UsageError(
            f"--since must be given once for each source, got {len(reading.since)} for "
            f"{len(reading.sources)}"
        )
    if reading.draft_sampling is not None and reading.output is None:
        raise click.UsageError("--draft-sampling needs --output, the profile that it is noted in")
