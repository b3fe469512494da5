"""The options that measure, validate and generate share, and nothing heavy."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import click

from estimator.drafters.registry import drafter_forms
from estimator.rules.registry import VERIFICATION, rule_kinds
from estimator.settings import EMBEDDED_PROMPT_TOKENS, MAX_GAMMA, MOST_GAMMA
from specplan.options.groups import Decorator, together

OPTIONS: Mapping[str, Decorator] = {
    "target": click.option(
        "--target",
        metavar="NAME|FOLDER",
        help="Model to accelerate: embedded, a Hugging Face name or a folder.  [default: embedded]",
    ),
    "draft": click.option(
        "--draft",
        "drafts",
        multiple=True,
        metavar="DRAFTER",
        help=f"{drafter_forms()}.  [default: embedded, without --target]",
    ),
    "force": click.option(
        "--force",
        is_flag=True,
        help="Take an n-gram model though its tokenizer is not known to be the target's.",
    ),
    "device": click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        help="Where the models run; auto: a GPU if there is one.",
    ),
    "device-map": click.option(
        "--device-map",
        metavar="MAP",
        help="Spread a target that one GPU does not hold over all: auto, balanced, balanced_low_0, "
        "sequential (accelerate's), or a JSON object of a device for each module. The draft runs "
        "where the target's first layer does.",
    ),
    "dtype": click.option(
        "--dtype",
        type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
        default="auto",
        help="auto: float32 on a CPU, the checkpoint's own elsewhere.",
    ),
    "trust-remote-code": click.option(
        "--trust-remote-code",
        is_flag=True,
        help="Let a model repository's own code run.",
    ),
    "prompts": click.option(
        "--prompts",
        metavar="FILE",
        help="A .txt (one a line), a .jsonl, .ndjson or .json (prompt, text, turns, messages or "
        "conversations), or a folder or glob of files.  [default: library sources held out from "
        "the embedded models]",
    ),
    "dataset": click.option(
        "--dataset",
        metavar="NAME|FOLDER",
        help="Prompts of a Hugging Face data set, read as --prompts reads records; needs "
        "pip install -e '.[datasets]'.",
    ),
    "dataset-config": click.option(
        "--dataset-config", metavar="NAME", help="Of a data set that has several."
    ),
    "dataset-split": click.option(
        "--dataset-split", metavar="NAME", help="Of the data set.  [default: its only one]"
    ),
    "num-prompts": click.option(
        "--num-prompts",
        type=click.IntRange(min=1),
        default=8,
        help="How many of the prompts to use; generate uses one.",
    ),
    "prompt-tokens": click.option(
        "--prompt-tokens",
        type=click.IntRange(min=1),
        help=f"Cut each prompt to its first tokens.  [default: {EMBEDDED_PROMPT_TOKENS} for "
        "library sources, else whole]",
    ),
    "chat": click.option(
        "--chat", is_flag=True, help="Give each prompt as a user's message in the chat template."
    ),
    "max-new-tokens": click.option(
        "--max-new-tokens",
        type=click.IntRange(min=1),
        default=64,
        help="Tokens after each prompt, at most.",
    ),
    "draft-temperature": click.option(
        "--draft-temperature",
        type=float,
        help="Of the draft; 0: its likeliest token, as most servers draft whatever the target's "
        "temperature. The output law is the target's at any.  [default: the target's]",
    ),
    "top-k": click.option("--top-k", type=int, help="Keep the k likeliest tokens."),
    "top-p": click.option(
        "--top-p", type=float, default=1.0, help="Keep the smallest set of this mass."
    ),
    "min-p": click.option(
        "--min-p",
        type=float,
        default=0.0,
        help="Drop tokens less likely than this times the likeliest.",
    ),
    "repetition-penalty": click.option(
        "--repetition-penalty",
        type=float,
        default=1.0,
        help="Weaken tokens that the text has; 1 changes nothing.",
    ),
    "lattice-k": click.option(
        "--lattice-k",
        type=click.IntRange(min=1),
        help="Tokens of each head among which heads+RESCORER and heads*P choose.  [default: 16]",
    ),
    "rescoring-weight": click.option(
        "--rescoring-weight",
        type=float,
        help="Of the rescorer beside the heads, at least 0.  [default: 1]",
    ),
}

verification_option = click.option(
    "--verification",
    type=click.Choice(list(rule_kinds())),
    default=VERIFICATION,
    help="How drafts are judged: "
    + "; ".join(f"{kind.word}: {kind.judges}" for kind in rule_kinds().values())
    + ".",
)

lenience_option = click.option(
    "--lenience",
    type=float,
    help="Accept more, lossily: no token above p/L (Leviathan et al. 2023, A.5).  [default: 1, "
    "lossless]",
)

compile_option = click.option(
    "--compile",
    "compiling",
    type=click.Choice(["off", "on", "try"]),
    is_flag=False,
    flag_value="on",
    default="off",
    help="Compile both models' short passes, before anything is timed (--compile alone: on); "
    "try: go on without where that fails.",
)


max_gamma_option = click.option(
    "--max-gamma",
    type=click.IntRange(min=1, max=MOST_GAMMA),
    help=f"Longest draft of policies other than fixed.  [default: {MAX_GAMMA}]",
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Of texts and order."
)


def model_options(*, without: Collection[str] = ()) -> Decorator:
    """Returns the decorator that adds the options of models, prompts and sampling.

    Args:
      without: those that a command never reads, by their first words.
    """
    return together(*(option for name, option in OPTIONS.items() if name not in without))

