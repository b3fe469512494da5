"""`specplan generate`: generates text and shows each block."""

import click

from estimator.settings import MOST_GAMMA
from specplan.options.bild_options import one_bild_options
from specplan.options.declared import command_option
from specplan.options.model_options import (
    compile_option,
    lenience_option,
    max_gamma_option,
    model_options,
    verification_option,
)
from specplan.options.requests import Command, run
from specplan.options.shared import json_option


@click.command(
    "generate",
    cls=Command,
    ways={
        "--decoder beam": "specplan.commands.generate_work:beams",
        "--decoder bild": "specplan.commands.generate_work:bild",
        "--decoder autoregressive": "specplan.commands.generate_work:alone",
        "--decoder speculative": "specplan.commands.generate_work:speculative",
    },
)
@model_options(without=["num-prompts"])
@compile_option
@command_option("--prompt", help="Text to continue.  [default: the first of the prompts]")
@command_option(
    "--gamma", type=click.IntRange(1, MOST_GAMMA), default=4, help="Drafted tokens per block."
)
@command_option(
    "--policy",
    "policy_name",
    default="fixed",
    metavar="POLICY",
    help="fixed (--gamma), heuristic, confidence:P, product:P, or adaptive, which measures costs "
    "first.",
)
@max_gamma_option
@lenience_option
@verification_option
@command_option(
    "--temperature", type=float, default=1.0, help="Temperature of the target; 0 is greedy."
)
@command_option(
    "--stop",
    "stop_strings",
    multiple=True,
    metavar="TEXT",
    help="End with the token that completes this text; repeatable.",
)
@command_option(
    "--decoder",
    type=click.Choice(["autoregressive", "speculative", "bild", "beam"]),
    default="speculative",
    help="autoregressive: no draft; bild: lossy, by thresholds (Kim et al. 2023); beam: "
    "beam search, drafted --gamma steps ahead (Leviathan et al. 2023, A.4).",
)
@command_option(
    "--beams", type=click.IntRange(min=1), help="Width of --decoder beam.  [default: 4]"
)
@command_option(
    "--draft-beams",
    type=click.IntRange(min=1),
    help="Width of the draft's search, at least --beams.  [default: twice --beams]",
)
@one_bild_options
@command_option(
    "--show",
    is_flag=True,
    help="One line per block: accepted draft tokens green, rejected ones red, the target's blue.",
)
@command_option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the sampled tokens.")
@json_option
@click.pass_context
def generate_command(ctx: click.Context, /, **_: object) -> None:
    """Generate text speculatively and watch it work.

    Text appears as it is decoded, block by block; the counts go to stderr.

    \b
    Example:
      specplan generate --prompt "def fib(n):" --gamma 4 --show
      specplan generate --target T --draft D --chat --stop "." \\
        --prompt "Why is the sky blue?"
      specplan generate --decoder bild --fallback 0.6 --rollback 2 \\
        --temperature 0 --show
      specplan generate --decoder beam --beams 4 --prompt "def fib(n):"
    """
    run(ctx)
