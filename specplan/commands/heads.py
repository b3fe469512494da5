"""`specplan heads`: train blockwise heads for a model, and analyse what they draft."""

from __future__ import annotations

import click

from specplan.commands.heads_analyse import analyse_command
from specplan.commands.heads_train import train_command


@click.group("heads")
def heads_command() -> None:
    """Train blockwise heads for a model, and analyse what they draft.

    \b
    Example:
      specplan heads train --target T --corpus src/ -o heads/
      specplan heads analyse
    """


heads_command.add_command(train_command)
heads_command.add_command(analyse_command)
