"""`specplan align`: trains a small model to imitate a large one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.answer import Printed, answer, json_option, output_option
from specplan.options.command import Command, reads
from specplan.options.declared import COUNT, Whole, option, takes
from specplan.options.model_options import MODEL_RECORDS, MODELS
from specplan.reports.bar import Bar
from specplan.reports.output import writable

if TYPE_CHECKING:
    from studies.bild.alignment import Align


def new_folder(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """Returns an output folder's path; raises a usage error if the folder exists or cannot be made.

    If the existing folder holds a finished training, the work files that it left next to the folder
    are removed before the error.
    """
    if (value / "training.json").is_file():
        from reference.files import held
        from studies.bild.alignment import unfinished_files

        with held(value):
            for file in unfinished_files(value):
                file.unlink(missing_ok=True)
    return writable(ctx, param, value)


class AlignOptions:
    """Options of the loss, the training and the output folder.

    loss: hard: the large model's tokens (Kim et al. 2023); soft: its distributions; tv: 1 - alpha.
    steps: Training steps.
    batch: Texts for each step.
    rate: Learning rate at its peak.
    held_out: Number of prompts, taken from the end, that are kept for evaluation.
    temperature: Temperature of the large model; 0 is greedy.
    fallback: BiLD's fallback threshold in the evaluation.
    rollback: BiLD's rollback threshold in the evaluation.
    seed: Seed of texts and batches.
    """

    loss = option(type=click.Choice(["hard", "soft", "tv"]), default="hard")
    steps = option(type=COUNT, default=200)
    batch = option(type=COUNT, default=16)
    rate: float = option(default=0.0003)
    held_out = option(type=COUNT, default=16)
    temperature: float = option(default=0.0)
    fallback: float = option(default=0.6)
    rollback: float = option(default=2.0)
    seed = option(type=Whole(0), default=0)
    output = output_option(
        "Folder for the trained model; an interrupted run resumes from the files next to it.",
        required=True,
        metavar=None,
        callback=new_folder,
    )
    as_json = json_option


@click.command("align", cls=Command)
@takes(*MODEL_RECORDS, heading=MODELS, without=("device_map", "lattice_k", "rescoring_weight"))
@takes(AlignOptions)
@reads("studies.bild.alignment:Align", Printed)
def align_command(request: Align, form: Printed) -> None:
    """Train a small model to imitate a large one (Kim et al. 2023, section 3.5.1).

    The large model continues each of --num-prompts prompts. The draft is trained on these texts,
    except the held-out ones, and written to a folder that --draft takes. --draft exit:L trains
    the target instead, so that it predicts well after L layers and after all (section 4.4).

    Several GPUs: accelerate launch $(which specplan) align ...; several processes, with or without
    a GPU: accelerate launch --multi_gpu --num_processes 2 $(which specplan) align ...

    \b
    Example:
      specplan align --target T --draft D --prompts my.jsonl --num-prompts 512 \\
        -o aligned
      specplan validate --decoder bild --target T --draft aligned \\
        --prompts other.jsonl
    """
    from specplan.reports.studies import aligned_text
    from studies.bild.alignment import align_draft

    with Bar("align", "text") as bar:
        found = align_draft(request, bar)
    if found is not None:
        answer(lambda: found, lambda: aligned_text(found), form=form)
