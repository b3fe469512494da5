"""`specplan ngram`: train, inspect and score n-gram drafters."""

from __future__ import annotations

import click

from specplan.commands.ngram_info import info_command
from specplan.commands.ngram_score import score_command
from specplan.commands.ngram_train import train_command


@click.group("ngram")
def ngram_command() -> None:
    """Train, inspect and score n-gram drafters.

    \b
    Example:
      specplan ngram train --order 3 --corpus src/ --tokenizer gpt2 -o model.arpa
    """


ngram_command.add_command(train_command)
ngram_command.add_command(info_command)
ngram_command.add_command(score_command)
