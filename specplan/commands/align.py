"""`specplan align`: teach a small model to say what the large one would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specplan.commands.validate_bild import warn_of_size
from specplan.options.json_option import json_option
from specplan.options.model_options import ModelOptions, model_options
from specplan.options.requests import Command
from specplan.reports.output import print_json, writable
from specplan.reports.table import Column, ranged, table

if TYPE_CHECKING:
    from studies.bild.held_out import HeldOut, Share

MEASURES = ("alpha", "fallbacks", "rollbacks")


def unfinished_files(output: Path) -> tuple[Path, Path]:
    """Returns where an unfinished run keeps the large model's texts and its checkpoint."""
    texts, checkpoint = (
        output.with_name(f"{output.name}.{kind}") for kind in ("texts.json", "checkpoint")
    )
    return texts, checkpoint


def new_folder(ctx: click.Context, param: click.Parameter, value: Path) -> Path | None:
    """Returns the path of a folder to come; refuses it at once if it cannot be.

    Beside a folder that is whole, what a run left that was killed as it ended is removed.

    Raises:
      click.BadParameter: as writable.
    """
    if (value / "training.json").is_file():
        from reference.atomic.held import held

        with held(value):
            for file in unfinished_files(value):
                file.unlink(missing_ok=True)
    return writable(ctx, param, value)


@click.command("align", cls=Command)
@model_options
@click.option(
    "--loss",
    type=click.Choice(["hard", "soft", "tv"]),
    default="hard",
    help="hard: the large model's tokens (Kim et al. 2023); soft: its laws; tv: 1 - alpha itself.",
)
@click.option("--steps", type=click.IntRange(min=1), default=200, help="Of training.")
@click.option("--batch", type=click.IntRange(min=1), default=16, help="Texts for each step.")
@click.option("--rate", type=float, default=3e-4, help="Learning rate at its peak.")
@click.option(
    "--held-out",
    type=click.IntRange(min=1),
    default=16,
    help="How many of the prompts, the last ones, only judge.",
)
@click.option("--temperature", type=float, default=0.0, help="Of the large model; 0 is greedy.")
@click.option("--fallback", type=float, default=0.6, help="BiLD's, where it judges.")
@click.option("--rollback", type=float, default=2.0, help="BiLD's, where it judges.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of texts and batches.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    callback=new_folder,
    required=True,
    help="Folder for the trained model; an interrupted run resumes from what stands beside it.",
)
@json_option
def align_command(
    options: ModelOptions,
    loss: str,
    steps: int,
    batch: int,
    rate: float,
    held_out: int,
    temperature: float,
    fallback: float,
    rollback: float,
    seed: int,
    output: Path,
    as_json: bool,
) -> None:
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
    from tqdm import tqdm

    from estimator.draft_model import draft_model
    from estimator.drafters.kind import ModelKind
    from estimator.drafters.registry import parse_drafter
    from estimator.loading.pairs import draft_names, load
    from estimator.runs.arms import Subject
    from reference.atomic.held import held
    from reference.models.cached_model import CachedModel
    from reference.models.fitted_model import FittedModel
    from reference.training.alignment import Course, align, train_exits
    from reference.training.processes import require_equal_shares, this_process
    from reference.training.publish import publish
    from reference.training.schedule import Schedule
    from studies.bild.calibration import large_texts
    from studies.bild.distance import Rollback
    from studies.bild.fallback import Fallback
    from studies.bild.held_out import held_out as judged
    from studies.bild.held_out import with_as_many_calls

    for unfit, value in (
        ("draft_temperature", options.draft_temperature), ("device_map", options.device_map)
    ):   # fmt: skip
        if value is not None:
            raise ValueError(f"{unfit} cannot be given with align, got {value}")
    Fallback(fallback)
    Rollback(rollback)
    schedule = Schedule(steps, rate, warmup=max(steps // 10, 1))
    sampling = options.settings.at(temperature)
    names = draft_names(options.models)
    if len(names) > 1:
        raise ValueError(f"draft must be given once, got {', '.join(names)}")
    texts_file, checkpoint = unfinished_files(output)
    process = this_process()
    require_equal_shares(batch, processes=process.num_processes)
    if process.is_main_process:
        click.get_current_context().with_resource(held(output))
    if process.num_processes > 1:
        options = replace(options, device=process.device.type)
    loaded = load(options.models, options.text, sampling=options.settings)
    [(name, drafter_of)] = loaded.drafters.items()
    subject = Subject(loaded.target, drafter_of(sampling), sampling, loaded.stopping)
    drafted_with = draft_model(subject.drafter)
    # Rows of another width than the target's are fitted to it; the model inside is trained.
    small = drafted_with.model if isinstance(drafted_with, FittedModel) else drafted_with
    if drafted_with is None or not isinstance(small, CachedModel):
        raise ValueError(f"draft must be a model to be trained, got {name}")
    if process.is_main_process:
        warn_of_size(loaded.target.module, subject.drafter)
    if len(loaded.prompts) <= held_out:
        raise ValueError(
            f"a calibration set must have at least one text beside the {held_out} held out, got "
            f"{len(loaded.prompts)} prompts in all"
        )
    with (
        process.main_process_first(),
        tqdm(total=len(loaded.prompts), desc="large texts", unit="text", disable=None) as bar,
    ):
        lessons = large_texts(
            subject, loaded.prompts, texts_file, seed=seed, progress=bar.update
        )
    taught, judging = lessons[:-held_out], lessons[-held_out:]

    def judge(threshold: float) -> HeldOut:
        with tqdm(
            total=held_out, desc="held out", unit="text", leave=False, disable=None
        ) as bar:
            return judged(
                subject,
                drafted_with,
                [lesson.prompt for lesson in judging],
                [lesson.output for lesson in judging],
                fallback=threshold,
                rollback=rollback,
                seed=seed,
                progress=bar.update,
            )

    before = judge(fallback)
    course = Course(schedule, batch, checkpoint, seed)
    parsed = parse_drafter(name)
    exits = isinstance(parsed, ModelKind) and parsed.of_target
    if exits:
        trained = train_exits(loaded.target, small, taught, course)
    else:
        trained = align(loaded.target, small, taught, course, loss=loss)
    after = judge(fallback)
    equal_fallback, equal = with_as_many_calls(before.fallbacks.value, judge)
    result = {
        "target": loaded.target.name,
        "draft": name,
        "loss": "exits" if exits else loss,
        "steps": steps,
        "batch": batch,
        "texts": len(taught),
        "held_out": held_out,
        "temperature": temperature,
        "fallback": fallback,
        "rollback": rollback,
        "resumed_at_step": trained.resumed,
        "seconds": trained.seconds,
        **{
            measure: compared(getattr(before, measure), getattr(after, measure))
            for measure in MEASURES
        },
        "as_many_calls": {
            "fallback": equal_fallback,
            **{
                measure: compared(getattr(before, measure), getattr(equal, measure))
                for measure in MEASURES[1:]
            },
        },
        "output": str(output),
    }
    if process.is_main_process:
        publish(
            output,
            (loaded.target if exits else small).module,
            loaded.tokenizer,
            result,
            instead_of=(checkpoint, texts_file),
        )
        if as_json:
            print_json(result)
        else:
            click.echo(report(result))


def compared(before: Share, after: Share) -> dict[str, Any]:
    """Returns a share before and after, and its change, each with its interval."""
    change = before.change(after)
    return {
        "before": dict(zip(("value", "low", "high"), (before.value, *before.interval()),
                           strict=True)),
        "after": dict(zip(("value", "low", "high"), (after.value, *after.interval()),
                          strict=True)),
        "change": dict(zip(("value", "low", "high"), (after.value - before.value, *change),
                           strict=True)),
    }


def report(result: dict[str, Any]) -> str:
    """Returns what training changed, as a table."""
    equal = result["as_many_calls"]
    shown = {measure: result[measure] for measure in MEASURES} | {
        f"{measure} at {equal['fallback']:.3g}": equal[measure] for measure in MEASURES[1:]
    }
    columns = [
        Column[str]("on held-out prompts", str),
        *(_column(shown, when) for when in ("before", "after", "change")),
    ]
    return "\n".join(
        [
            table(shown, columns),
            "",
            "alpha: mean of sum min(p, q) along the large model's texts; fallbacks (large calls) "
            f"and rollbacks over BiLD's tokens, at fallback {result['fallback']:g}, and after at "
            f"{equal['fallback']:.3g}, where the",
            "large calls are as many as before;",
            f"95 % intervals over {result['held_out']} prompts. Trained on "
            f"{result['texts']} texts, {result['steps']} steps, loss {result['loss']}, "
            f"{result['seconds']:.0f} s since last resumed.",
            f"Wrote {result['output']}",
        ]
    )


def _column(shown: dict[str, Any], when: str) -> Column[str]:
    def cell(name: str) -> str:
        part = shown[name][when]
        return ranged(part["value"], part["low"], part["high"], ".3f")

    return Column(when, cell)
