"""`specplan heads train`: blockwise heads or an EAGLE-3 head for a model."""

from __future__ import annotations

from pathlib import Path

import click

from specplan.options.corpus_options import corpus_option
from specplan.options.declared import command_option
from specplan.options.json_option import json_option
from specplan.options.requests import Command, run
from specplan.reports.output import writable


@click.command(
    "train",
    cls=Command,
    ways={
        "--kind eagle3": "specplan.commands.heads_work:train_eagle3_head",
        "--kind blockwise": "specplan.commands.heads_work:train",
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
@command_option("--tokens", type=click.IntRange(min=2), default=300_000, help="Of the text.")
@command_option(
    "--joint", is_flag=True, help="Train the model, too, and write it beside the heads."
)
@command_option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto")
@command_option("--seed", type=click.IntRange(min=0), default=0, help="Of weights and positions.")
@command_option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    callback=writable,
    required=True,
    help="Folder for the heads; an interrupted run resumes from the files beside it.",
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
