"""`specplan tune`: finds the best gamma on this machine in few runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from specplan.options.declared import option, takes
from specplan.options.engine_options import ON_ENGINE, EngineRunOptions
from specplan.options.model_options import MODELS, ModelOptions, seed_option
from specplan.options.ranges import duration, numbers
from specplan.options.requests import Command, reads, run
from specplan.options.shared import json_option, output_option
from specplan.reports.bar import Bar
from specplan.reports.output import Printed, answer

if TYPE_CHECKING:
    from engines.tuning.outlook import Outlook
    from engines.tuning.request import TuneEngine, TuneOwn, TuneServer
    from engines.tuning.tuned import TunedRun


class TuneSearchOptions:
    """How the search runs and ends."""

    temperature = option(type=float, default=0.0, help="The target's; 0 is greedy decoding.")
    max_gamma = option(type=click.IntRange(min=1), default=16, help="The largest gamma to run.")
    worth = option(
        metavar="PERCENT",
        type=float,
        default=0.2,
        help="End when a further run promises less speed.",
    )
    max_runs = option(
        type=click.IntRange(min=1),
        default=6,
        help="Most runs at each concurrency, the baseline not counted.",
    )
    time_limit = option(
        metavar="SECONDS",
        type=float,
        callback=duration,
        help="Begin no further run after this; the first always ends.",
    )
    repeats = option(
        type=click.IntRange(min=1),
        default=3,
        help="Times that a run takes all prompts, at most; it ends when it is exact enough.",
    )
    synthetic = option(
        callback=numbers,
        advanced=True,
        help="Acceptance rates by position that the engine simulates, unconditional: to tune "
        "prices without a trained draft.",
    )
    dry_run = option(is_flag=True, help="Only show the runs to begin with, and what to expect.")


class TuneOptions:
    """The running server, the seed, and where the answer goes."""

    server = option(metavar="URL", help="A llama.cpp or vLLM server that runs already.")
    seed = seed_option
    output = output_option("Keep the runs here, and go on with those that it has.")
    as_json = json_option


@reads("engines.tuning.request:TuneEngine", Printed)
def tune_engine(request: TuneEngine, form: Printed) -> None:
    """Tunes an engine that it starts itself."""
    _tune(request, form)


@reads("engines.tuning.request:TuneOwn", Printed)
def tune_own(request: TuneOwn, form: Printed) -> None:
    """Tunes specplan's own decoder."""
    _tune(request, form)


@reads("engines.tuning.request:TuneServer", Printed)
def tune_server(request: TuneServer, form: Printed) -> None:
    """Tunes a server that is already running."""
    _tune(request, form)


def _tune(request: TuneEngine | TuneOwn | TuneServer, form: Printed) -> None:
    from engines.tuning.tune import tune
    from specplan.reports.tuning import progress_text, tuned_data, tuned_text

    with Bar("tune", "text") as bar:

        def show(now: Outlook, row: TunedRun | None) -> None:
            bar.print(progress_text(now, row), err=True)

        found = tune(request, progress=bar, shown=show)
    answer(tuned_data(found), lambda: tuned_text(found, dry_run=request.how.dry_run), form=form)


@click.command(
    "tune",
    cls=Command,
    ways={"--server": tune_server, "--engine": tune_engine, "": tune_own},
)
@takes(ModelOptions, heading=MODELS, without=("draft_temperature", "repetition_penalty"))
@takes(EngineRunOptions, heading=ON_ENGINE)
@takes(TuneSearchOptions, heading="Search")
@takes(TuneOptions)
@click.pass_context
def tune_command(ctx: click.Context, /, **_: object) -> None:
    """Find the best gamma on this machine, in few runs.

    Times the target without speculation and the gamma that is expected to be best, learns from
    both, and runs the next gamma that promises most, until a further run is worth less than
    --worth. Ends with the server's flags. Killed, it goes on from its file (-o).

    \b
    Examples:
      specplan tune --engine llama.cpp --target T --draft D -o tuned.json
      specplan tune
      specplan tune --engine vllm --target T --draft D --concurrency 1,8,32
      specplan tune --server http://localhost:8080 -o tuned.json
      specplan plan --runs tuned.json
    """
    run(ctx)
