"""`specplan tune`: finds the best gamma on this machine in few runs."""

import click

from specplan.options.declared import command_option, together
from specplan.options.engine_options import HEADING, OPTIONS
from specplan.options.model_options import model_options, seed_option
from specplan.options.ranges import duration, numbers
from specplan.options.requests import Command, run
from specplan.options.shared import json_option, output_option

search_options = together(
    command_option(
        "--temperature", type=float, default=0.0, help="The target's; 0 is greedy decoding."
    ),
    command_option(
        "--max-gamma", type=click.IntRange(min=1), default=16, help="The largest gamma to run."
    ),
    command_option(
        "--worth",
        metavar="PERCENT",
        type=float,
        default=0.2,
        help="End when a further run promises less speed.",
    ),
    command_option(
        "--max-runs",
        type=click.IntRange(min=1),
        default=6,
        help="Most runs at each concurrency, the baseline not counted.",
    ),
    command_option(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        callback=duration,
        help="Begin no further run after this; the first always ends.",
    ),
    command_option(
        "--repeats",
        type=click.IntRange(min=1),
        default=3,
        help="Times that a run takes all prompts, at most; it ends when it is exact enough.",
    ),
    command_option(
        "--synthetic",
        callback=numbers,
        advanced=True,
        help="Acceptance rates by position that the engine simulates, unconditional: to tune "
        "prices without a trained draft.",
    ),
    command_option(
        "--dry-run", is_flag=True, help="Only show the runs to begin with, and what to expect."
    ),
    heading="Search",
)


@click.command(
    "tune",
    cls=Command,
    ways={
        "--server": "specplan.commands.tune_work:tune_server",
        "--engine": "specplan.commands.tune_work:tune_engine",
        "": "specplan.commands.tune_work:tune_own",
    },
)
@model_options(without=("draft-temperature", "repetition-penalty"))
@together(*OPTIONS, heading=HEADING)
@command_option("--server", metavar="URL", help="A llama.cpp or vLLM server that runs already.")
@search_options
@seed_option
@output_option("Keep the runs here, and go on with those that it has.")
@json_option
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
