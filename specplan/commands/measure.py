"""`specplan measure`: measures alpha, c and the cost curves of real models."""

from pathlib import Path

import click

from estimator.settings import MOST_GAMMA
from specplan.options.declared import command_option
from specplan.options.engine_options import engine_options
from specplan.options.model_options import (
    compile_option,
    model_options,
    timing_options,
    verification_option,
)
from specplan.options.ranges import integers
from specplan.options.requests import Command, run
from specplan.options.shared import output_option


@click.command(
    "measure",
    cls=Command,
    ways={
        "--texts": "specplan.commands.measure_work:texts",
        "--engine": "specplan.commands.measure_work:on_engine",
        "": "specplan.commands.measure_work:own",
    },
)
@model_options()
@engine_options
@compile_option
@verification_option
@command_option(
    "--temperature", type=float, default=1.0, help="Temperature of the target; 0 is greedy."
)
@command_option(
    "--max-gamma", type=click.IntRange(1, MOST_GAMMA), default=16, help="Longest draft to price."
)
@timing_options
@command_option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=1,
    help="Texts that the target writes at once for alpha; costs are measured at batch 1.",
)
@command_option(
    "--batch",
    "batches",
    callback=integers,
    metavar="B,B,...",
    help="Also time passes over this many sequences, for 'plan --profile P --batch'.",
)
@command_option(
    "--context",
    type=click.IntRange(min=1),
    help="With --batch: tokens in the cache of each sequence.  [default: 128]",
)
@command_option(
    "--texts",
    type=click.Path(path_type=Path),
    metavar="LOG",
    help="Measure a draft that copies (lookup, suffix, ngram) along texts already written, without "
    "a model: a .jsonl or .parquet with a prompt and an output each, text or ids.",
)
@command_option(
    "--tokenizer",
    metavar="NAME|FOLDER",
    help="Tokenizer of --texts: embedded, a hub name or a folder.  [default: none, for ids]",
)
@command_option(
    "--skip-bad-lines", is_flag=True, help="Leave out lines that cannot be read, and count them."
)
@command_option(
    "--processes",
    type=click.IntRange(min=1),
    help="Processes that share the log.  [default: one per core]",
)
@command_option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the texts.")
@output_option(
    "Write the profile here, and its traces as FILE.traces.npz. An interrupted run keeps the "
    "traces of finished prompts and repeats the timing.",
)
@command_option("--json", "as_json", is_flag=True, help="Print the profile as one JSON object.")
@click.pass_context
def measure_command(ctx: click.Context, /, **_: object) -> None:
    """Measure alpha, c and the cost curves of real models.

    The target writes text, the draft scores it in one parallel pass: alpha is the mean of
    sum min(p, q). Costs come from the decoder's own blocks, baseline and probes interleaved.
    Under torchrun the texts are shared out among the processes, and the first one times.

    \b
    Example:
      specplan measure --target Qwen/Qwen3-8B --draft Qwen/Qwen3-0.6B \\
        --prompts my.jsonl -o profile.json
      specplan plan --profile profile.json
      specplan measure --engine llama.cpp -o profile.json
      specplan measure --texts log.jsonl --draft suffix --tokenizer T -o profile.json
      torchrun --nproc-per-node 8 -m specplan measure --target T --draft D \\
        --dataset HuggingFaceH4/mt_bench_prompts --num-prompts 80 -o profile.json
    """
    run(ctx)
