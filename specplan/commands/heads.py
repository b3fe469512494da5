"""`specplan heads`: trains blockwise heads or an EAGLE-3 head, and analyses blockwise drafts."""

import click

from specplan.options.declared import command_option
from specplan.options.model_options import model_options
from specplan.options.requests import Command, run
from specplan.options.shared import corpus_option, json_option, output_option


@click.group("heads")
def heads_command() -> None:
    """Train blockwise heads for a model, and analyse what they draft.

    \b
    Example:
      specplan heads train --target T --corpus src/ -o heads/
      specplan heads analyse
    """


@heads_command.command(
    "train",
    cls=Command,
    ways={
        "--kind eagle3": "specplan.commands.training_work:train_eagle3_head",
        "--kind blockwise": "specplan.commands.training_work:train",
    },
    short_help="Train heads on a frozen model, or with it.",
)
@command_option(
    "--kind",
    type=click.Choice(["blockwise", "eagle3"]),
    default="blockwise",
    help="Heads that each draft one position, or one that drafts token after token.",
)
@command_option(
    "--target",
    default="embedded",
    metavar="NAME|FOLDER",
    show_default=True,
    help="The decoder-only model that is to draft for itself.",
)
@corpus_option
@command_option(
    "--heads", type=click.IntRange(min=2), default=9, help="h, the model's own included."
)
@command_option(
    "--hidden",
    type=click.IntRange(min=1),
    help="Hidden units.  [default: 2 x width; with --kind eagle3: 4 x]",
)
@command_option(
    "--unrolled",
    type=click.IntRange(min=1),
    help="With --kind eagle3: tokens drafted from each position in training.  [default: 4]",
)
@command_option("--steps", type=click.IntRange(min=0), default=2000, help="Steps of training.")
@command_option("--rate", type=float, default=3e-3, help="Peak learning rate.")
@command_option("--positions", type=click.IntRange(min=1), default=512, help="Positions of a step.")
@command_option("--window", type=click.IntRange(min=2), default=256, help="Tokens read at once.")
@command_option(
    "--tokens",
    type=click.IntRange(min=2),
    default=300_000,
    help="Tokens of the text that are used.",
)
@command_option("--joint", is_flag=True, help="Train the model, too, and write it with the heads.")
@command_option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto")
@command_option(
    "--seed", type=click.IntRange(min=0), default=0, help="Seed of weights and positions."
)
@output_option(
    "Folder for the heads; an interrupted run resumes from the files next to it.",
    required=True,
    metavar=None,
)
@json_option
@click.pass_context
def train_command(ctx: click.Context, /, **_: object) -> None:
    """Train blockwise heads, for `--draft heads:FOLDER`, or an EAGLE-3 head.

    The model stays as it is, unless --joint (the paper's loss, all weights 1). A twentieth of the
    text is kept to measure how often each head is right, or what an EAGLE-3 head's drafts would
    accept. An EAGLE-3 head is written in the layout that vLLM and SGLang load.

    \b
    Example:
      specplan heads train --target T --corpus src/ -o heads/
      specplan validate --target T --draft heads:heads/
      specplan heads train --kind eagle3 --target T --corpus src/ -o head/
      specplan validate --target T --draft eagle3:head/
    """
    run(ctx)


@heads_command.command(
    "analyse",
    cls=Command,
    ways={"": "specplan.commands.training_work:analyse"},
    short_help="Analyse drafts of heads before and after rescoring.",
)
@model_options(without=["draft-temperature", "device-map", "rescoring-weight"])
@command_option(
    "--ngram",
    "ngrams",
    multiple=True,
    metavar="FILE",
    help="An n-gram model that rescores; repeatable.  [default: the embedded trigram]",
)
@command_option(
    "--neural",
    metavar="MODEL",
    help="A small model that rescores: embedded, or a name or folder.  [default: embedded with "
    "the embedded target, else none]",
)
@command_option(
    "--tuning-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.3,
    help="Share of the prompts on which the rescorers' weights are chosen.",
)
@json_option
@click.pass_context
def analyse_command(ctx: click.Context, /, **_: object) -> None:
    """Analyse blockwise drafts as Kim et al. 2024 do, on greedy texts of the target.

    Repetition, entropy by head, block efficiency of the heads' own drafts, of rescored and
    parallel ones and of the oracle, each with its interval over prompts.

    \b
    Example:
      specplan heads analyse
      specplan heads analyse --target T --draft heads:heads/ --ngram 4gram.arpa --prompts my.jsonl
    """
    run(ctx)
