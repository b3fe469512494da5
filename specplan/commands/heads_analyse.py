"""`specplan heads analyse`: what blockwise heads draft, before and after rescoring."""

from __future__ import annotations

import click

from specplan.options.declared import command_option
from specplan.options.json_option import json_option
from specplan.options.model_options import model_options
from specplan.options.requests import Command, run


@click.command(
    "analyse",
    cls=Command,
    ways={"": "specplan.commands.heads_work:analyse"},
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
