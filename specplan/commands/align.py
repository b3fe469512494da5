"""`specplan align`: trains a small model to imitate a large one."""

from pathlib import Path

import click

from specplan.options.declared import command_option
from specplan.options.model_options import model_options
from specplan.options.requests import Command, run
from specplan.options.shared import json_option, output_option
from specplan.reports.output import writable


def new_folder(ctx: click.Context, param: click.Parameter, value: Path) -> Path | None:
    """Returns the path of a new output folder; raises a usage error if it cannot be created.

    Leftover files of a killed run are removed if the folder itself is complete.
    """
    if (value / "training.json").is_file():
        from reference.atomic import held
        from studies.bild.alignment import unfinished_files

        with held(value):
            for file in unfinished_files(value):
                file.unlink(missing_ok=True)
    return writable(ctx, param, value)


@click.command("align", cls=Command, ways={"": "specplan.commands.training_work:align"})
@model_options(without=["draft-temperature", "device-map", "lattice-k", "rescoring-weight"])
@command_option(
    "--loss",
    type=click.Choice(["hard", "soft", "tv"]),
    default="hard",
    help="hard: the large model's tokens (Kim et al. 2023); soft: its distributions; tv: 1 - alpha "
    "itself.",
)
@command_option("--steps", type=click.IntRange(min=1), default=200, help="Training steps.")
@command_option("--batch", type=click.IntRange(min=1), default=16, help="Texts for each step.")
@command_option("--rate", type=float, default=3e-4, help="Learning rate at its peak.")
@command_option(
    "--held-out",
    type=click.IntRange(min=1),
    default=16,
    help="Number of prompts, taken from the end, that are kept for evaluation.",
)
@command_option(
    "--temperature", type=float, default=0.0, help="Temperature of the large model; 0 is greedy."
)
@command_option(
    "--fallback", type=float, default=0.6, help="BiLD's fallback threshold in the evaluation."
)
@command_option(
    "--rollback", type=float, default=2.0, help="BiLD's rollback threshold in the evaluation."
)
@command_option("--seed", type=click.IntRange(min=0), default=0, help="Seed of texts and batches.")
@output_option(
    "Folder for the trained model; an interrupted run resumes from the files next to it.",
    required=True,
    metavar=None,
    callback=new_folder,
)
@json_option
@click.pass_context
def align_command(ctx: click.Context, /, **_: object) -> None:
    """Teach a small model to say what the large one would (Kim et al. 2023, section 3.5.1).

    The large model writes after each of --num-prompts prompts; the draft is trained on all but
    the held-out ones and written to a folder that --draft takes. With --draft exit:L it is the
    target that is trained, to be left after L layers as well as after all (section 4.4).

    Several GPUs: accelerate launch $(which specplan) align ...; several processes, with or without
    one: accelerate launch --multi_gpu --num_processes 2 $(which specplan) align ...

    \b
    Example:
      specplan align --target T --draft D --prompts my.jsonl --num-prompts 512 \\
        -o aligned
      specplan validate --decoder bild --target T --draft aligned \\
        --prompts other.jsonl
    """
    run(ctx)
