"""`specplan align`: trains a small model to imitate a large one."""

from pathlib import Path

import click

from specplan.options.answer import Printed, answer, output_option
from specplan.options.command import Command, reads
from specplan.options.declared import COUNT, Whole, declare, option, takes
from specplan.options.model_options import MODEL_RECORDS, MODELS
from specplan.reports.bar import Bar
from specplan.reports.output import writable
from studies.bild.request import Align


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


declare(
    Align,
    loss=option(type=click.Choice(["hard", "soft", "tv"])),
    steps=option(type=COUNT),
    batch=option(type=COUNT),
    held_out=option(type=COUNT),
    seed=option(type=Whole(0)),
    output=output_option(required=True, metavar=None, callback=new_folder),
)


@click.command("align", cls=Command)
@takes(*MODEL_RECORDS, heading=MODELS, without=("device_map", "lattice_k", "rescoring_weight"))
@takes(Align, Printed)
@reads(Align, Printed)
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
        report = align_draft(request, bar)
    if report is not None:
        answer(lambda: report, lambda: aligned_text(report), form=form)
