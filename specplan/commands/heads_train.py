"""`specplan heads train`: blockwise heads for a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from specplan.options.corpus_options import corpus_option
from specplan.options.json_option import json_option
from specplan.options.requests import Command
from specplan.reports.bar import Bar
from specplan.reports.output import print_json, writable
from specplan.reports.table import Column, table


@click.command("train", cls=Command, short_help="Train heads on a frozen model, or with it.")
@click.option(
    "--target",
    default="embedded",
    metavar="NAME|FOLDER",
    show_default=True,
    help="The decoder-only model that is to draft for itself.",
)
@corpus_option
@click.option("--heads", type=click.IntRange(min=2), default=9, help="h, the model's own included.")
@click.option("--hidden", type=click.IntRange(min=1), help="Hidden units.  [default: 2 x width]")
@click.option("--steps", type=click.IntRange(min=0), default=2000, help="Steps of training.")
@click.option("--rate", type=float, default=3e-3, help="Peak learning rate.")
@click.option("--positions", type=click.IntRange(min=1), default=512, help="Positions of a step.")
@click.option("--window", type=click.IntRange(min=2), default=256, help="Tokens read at once.")
@click.option("--tokens", type=click.IntRange(min=2), default=300_000, help="Of the text.")
@click.option("--joint", is_flag=True, help="Train the model, too, and write it beside the heads.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of weights and positions.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    callback=writable,
    required=True,
    help="Folder for the heads; an interrupted run resumes from what stands beside it.",
)
@json_option
def train_command(
    target: str,
    sources: tuple[str, ...],
    heads: int,
    hidden: int | None,
    steps: int,
    rate: float,
    positions: int,
    window: int,
    tokens: int,
    joint: bool,
    device: str,
    seed: int,
    output: Path,
    as_json: bool,
) -> None:
    """Train blockwise heads, for `--draft heads:FOLDER`.

    The model stays as it is, unless --joint (the paper's loss, all weights 1). A twentieth of the
    text is kept to measure how often each head is right.

    \b
    Example:
      specplan heads train --target T --corpus src/ -o heads/
      specplan validate --target T --draft heads:heads/
    """
    import shutil

    import torch

    from estimator.loading.corpora import read_corpus
    from estimator.loading.sources import target_source
    from ngram.rows.vocabulary import vocabulary_of
    from reference.models.huggingface import load_model, load_tokenizer, resolve_device
    from reference.training.loop import Training
    from reference.training.schedule import Schedule
    from studies.blockwise.folder import save_heads
    from studies.blockwise.heads import Heads
    from studies.blockwise.training import (
        head_accuracy,
        kept_states,
        train_jointly,
        train_on_states,
        windows_of,
    )

    if output.exists():
        raise ValueError(f"output must not exist yet, got {output}")
    schedule = Schedule(steps, rate, warmup=max(steps // 20, 1))
    source = target_source(target)
    tokenizer = load_tokenizer(source)
    with Bar("read", "file") as bar:
        corpus = read_corpus(sources, None, tokenizer, progress=bar)
    stream = torch.from_numpy(corpus.sentences[:tokens].astype("int64"))
    stream[stream < 0] = vocabulary_of(tokenizer).end
    windows = windows_of(stream, window, heads=heads)
    held = max(len(windows) // 20, 1)
    learnt = windows[:-held] if len(windows) > 1 else windows
    model = load_model(source, device=resolve_device(device), dtype="float32")
    if model.kind != "decoder-only":
        raise ValueError(f"heads are trained for decoder-only models, got {target} ({model.kind})")
    if model.max_length is not None and windows.shape[1] > model.max_length:
        raise ValueError(
            f"window must fit the {model.max_length} positions of {target}, got {windows.shape[1]}"
        )
    torch.manual_seed(seed)
    embedding = model.module.get_output_embeddings()
    width = embedding.weight.shape[1]
    made = Heads(heads=heads, width=width, hidden=2 * width if hidden is None else hidden)
    made.to(model.device)
    work, unfinished = (
        output.with_name(f"{output.name}.{kind}") for kind in ("training", "unfinished")
    )
    work.mkdir(exist_ok=True)
    settings = {
        "target": target,
        "heads": heads,
        "hidden": made.hidden,
        "positions": positions,
        "rate": rate,
        "window": windows.shape[1],
        "tokens": learnt.numel(),
    }
    training = Training(
        name="model and heads" if joint else "heads",
        schedule=schedule,
        checkpoint=work / "checkpoint.safetensors",
        seed=seed,
        settings=settings,
    )
    if joint:
        done = train_jointly(
            made,
            model.module,
            training,
            windows=learnt,
            texts=max(positions // windows.shape[1], 1),
        )
    else:
        model.module.requires_grad_(False)
        done = train_on_states(
            made,
            embedding,
            training,
            windows=learnt,
            states=kept_states(model.module, learnt, work / "states"),
            positions=positions,
        )
    accuracy = head_accuracy(
        made,
        embedding,
        windows=windows[-held:],
        states=kept_states(model.module, windows[-held:], work / "held-out"),
    )
    report: dict[str, Any] = {
        "model": str(output) if joint else target,
        "joint": joint,
        "steps": steps,
        "training_tokens": learnt.numel(),
        "held_out_accuracy": accuracy,
    }
    shutil.rmtree(unfinished, ignore_errors=True)
    if joint:
        model.module.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
    save_heads(unfinished, made, model.module, report)
    unfinished.rename(output)
    shutil.rmtree(work)
    report |= {
        "output": str(output),
        "heads": heads,
        "hidden": made.hidden,
        "resumed_at_step": done.resumed,
        "seconds": done.seconds,
        "loss": done.loss,
    }
    if as_json:
        print_json(report)
        return
    click.echo(f"{output}: {heads} heads of {made.hidden} hidden units, {steps} steps")
    columns = [
        Column[tuple[int, float]]("head", lambda row: str(row[0])),
        Column[tuple[int, float]]("right on held-out text", lambda row: f"{row[1]:.1%}"),
    ]
    click.echo(table(enumerate(accuracy, start=2), columns))
