"""The options that measure, validate and generate share. Imports nothing heavy."""

from collections.abc import Collection, Mapping

import click

from estimator.draft_names.kind import drafter_forms
from estimator.rule_names.kind import VERIFICATION, rule_kinds
from estimator.settings import EMBEDDED_PROMPT_TOKENS, MAX_GAMMA, MOST_GAMMA, PRECISION_PERCENT
from specplan.options.declared import Decorator, command_option, together
from specplan.options.ranges import duration
from specplan.options.shared import drafters

OPTIONS: Mapping[str, Decorator] = {
    "target": command_option(
        "--target",
        metavar="NAME|FOLDER",
        help="Model to accelerate: embedded, a Hugging Face name or a folder.  [default: embedded]",
    ),
    "draft": command_option(
        "--draft",
        "drafts",
        multiple=True,
        metavar="DRAFTER",
        callback=drafters,
        help=f"{drafter_forms()}; list: print them.  [default: embedded, without --target]",
    ),
    "force": command_option(
        "--force",
        is_flag=True,
        advanced=True,
        help="Take an n-gram model though its tokenizer is not known to be the target's.",
    ),
    "device": command_option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        help="Where the models run; auto: a GPU if there is one.",
    ),
    "device-map": command_option(
        "--device-map",
        metavar="MAP",
        advanced=True,
        help="Spread a target that one GPU does not hold over all: auto, balanced, balanced_low_0, "
        "sequential (accelerate's), or a JSON object of a device for each module. The draft runs "
        "where the target's first layer does.",
    ),
    "dtype": command_option(
        "--dtype",
        type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
        default="auto",
        advanced=True,
        help="auto: float32 on a CPU, the checkpoint's own elsewhere.",
    ),
    "trust-remote-code": command_option(
        "--trust-remote-code",
        is_flag=True,
        advanced=True,
        help="Let a model repository's own code run.",
    ),
    "prompts": command_option(
        "--prompts",
        metavar="FILE",
        help="A .txt (one a line), a .jsonl, .ndjson or .json (prompt, text, turns, messages or "
        "conversations), or a folder or glob of files.  [default: library sources held out from "
        "the embedded models]",
    ),
    "dataset": command_option(
        "--dataset",
        metavar="NAME|FOLDER",
        help="Prompts of a Hugging Face data set, read as --prompts reads records; needs "
        "pip install -e '.[datasets]'.",
    ),
    "dataset-config": command_option(
        "--dataset-config",
        metavar="NAME",
        advanced=True,
        help="Configuration of a data set that has several.",
    ),
    "dataset-split": command_option(
        "--dataset-split",
        metavar="NAME",
        advanced=True,
        help="Split of the data set.  [default: its only one]",
    ),
    "num-prompts": command_option(
        "--num-prompts",
        type=click.IntRange(min=1),
        default=8,
        help="Number of prompts to use; generate uses one.",
    ),
    "prompt-tokens": command_option(
        "--prompt-tokens",
        type=click.IntRange(min=1),
        advanced=True,
        help=f"Cut each prompt to its first tokens.  [default: {EMBEDDED_PROMPT_TOKENS} for "
        "library sources, else whole]",
    ),
    "chat": command_option(
        "--chat",
        is_flag=True,
        advanced=True,
        help="Give each prompt as a user's message in the chat template.",
    ),
    "max-new-tokens": command_option(
        "--max-new-tokens",
        type=click.IntRange(min=1),
        default=64,
        help="Tokens after each prompt, at most.",
    ),
    "draft-temperature": command_option(
        "--draft-temperature",
        type=float,
        advanced=True,
        help="Temperature of the draft; 0: its likeliest token, as most servers draft. The output "
        "distribution is the target's at any draft temperature.  [default: the target's]",
    ),
    "top-k": command_option(
        "--top-k", type=int, advanced=True, help="Keep the k likeliest tokens."
    ),
    "top-p": command_option(
        "--top-p",
        type=float,
        default=1.0,
        advanced=True,
        help="Keep the smallest set of tokens with this probability.",
    ),
    "min-p": command_option(
        "--min-p",
        type=float,
        default=0.0,
        advanced=True,
        help="Drop tokens less likely than this times the likeliest.",
    ),
    "repetition-penalty": command_option(
        "--repetition-penalty",
        type=float,
        default=1.0,
        advanced=True,
        help="Weaken tokens that the text has; 1 changes nothing.",
    ),
    "lattice-k": command_option(
        "--lattice-k",
        type=click.IntRange(min=1),
        advanced=True,
        help="Candidates per head for heads+RESCORER and heads*P.  [default: 16]",
    ),
    "rescoring-weight": command_option(
        "--rescoring-weight",
        type=float,
        advanced=True,
        help="Weight of the rescorer relative to the heads, at least 0.  [default: 1]",
    ),
}

verification_option = command_option(
    "--verification",
    type=click.Choice(list(rule_kinds())),
    default=VERIFICATION,
    advanced=True,
    help="How drafts are judged: "
    + "; ".join(f"{kind.name}: {kind.judges}" for kind in rule_kinds().values())
    + ".",
)

lenience_option = command_option(
    "--lenience",
    type=float,
    advanced=True,
    help="Accept more, lossily: no token above p/L (Leviathan et al. 2023, A.5).  [default: 1, "
    "lossless]",
)

compile_option = command_option(
    "--compile",
    "compiling",
    type=click.Choice(["off", "on", "try"]),
    is_flag=False,
    flag_value="on",
    default="off",
    advanced=True,
    help="Compile both models' short passes, before anything is timed (--compile without a value: "
    "on); try: go on without where that fails.",
)


max_gamma_option = command_option(
    "--max-gamma",
    type=click.IntRange(min=1, max=MOST_GAMMA),
    advanced=True,
    help=f"Longest draft of policies other than fixed.  [default: {MAX_GAMMA}]",
)
seed_option = command_option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    advanced=True,
    help="Seed of texts and of their order.",
)

timing_options = together(
    command_option(
        "--repeats", type=click.IntRange(min=1), default=3, help="Timings of each run, at most."
    ),
    command_option(
        "--precision",
        metavar="PERCENT",
        type=float,
        default=PRECISION_PERCENT,
        callback=duration,
        help="Time no more once the clock lets no speed-up be off by more, 90 % of the time.",
    ),
    command_option(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        callback=duration,
        advanced=True,
        help="Begin no more runs after this, all drafts and temperatures together; two prompts, of "
        "a profile and with BiLD all, run once in any case.  [default: 120 of the embedded target, "
        "else none]",
    ),
)


def model_options(*, without: Collection[str] = ()) -> Decorator:
    """Returns the decorator that adds the options of models, prompts and sampling, without some."""
    options = (option for name, option in OPTIONS.items() if name not in without)
    return together(*options, heading="Models and prompts")
