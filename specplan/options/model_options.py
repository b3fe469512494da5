"""The options that measure, validate and generate share, and nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import click

from estimator.drafters.registry import drafter_forms
from estimator.rules.registry import VERIFICATION, rule_kinds
from estimator.settings import (
    EMBEDDED_PROMPT_TOKENS,
    ModelSettings,
    PromptSettings,
    SamplingSettings,
)
from specplan.options.groups import option_group

# Of a draft; predictions keep this many numbers for each text and resample.
MOST_GAMMA = 1000


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Which models to run, where, and on which text; see each option's help.

    prompt_tokens: None leaves a user's prompts whole.
    draft_temperature: None stands for the target's.
    device_map: how the target is spread over devices; None: it is on one.
    dataset, dataset_config, dataset_split: whose rows are the prompts; None: none's.
    force: take an n-gram model though its tokenizer is not known to be the target's.
    """

    target: str | None
    drafts: tuple[str, ...]
    force: bool
    device: str
    dtype: str
    trust_remote_code: bool
    prompts: str | None
    num_prompts: int
    prompt_tokens: int | None
    chat: bool
    max_new_tokens: int
    draft_temperature: float | None
    top_k: int | None
    top_p: float
    min_p: float
    repetition_penalty: float
    lattice_k: int | None = None
    rescoring_weight: float | None = None
    device_map: str | None = None
    dataset: str | None = None
    dataset_config: str | None = None
    dataset_split: str | None = None

    @property
    def models(self) -> Any:
        return self._as(ModelSettings)

    @property
    def text(self) -> Any:
        return self._as(PromptSettings)

    @property
    def settings(self) -> Any:
        return self._as(SamplingSettings)

    def _as(self, record: type[Any]) -> Any:
        return record(**{field.name: getattr(self, field.name) for field in fields(record)})


OPTIONS = [
    click.option(
        "--target",
        metavar="NAME|FOLDER",
        help="Model to accelerate: embedded, a Hugging Face name or a folder.  [default: embedded]",
    ),
    click.option(
        "--draft",
        "drafts",
        multiple=True,
        metavar="DRAFTER",
        help=f"{drafter_forms()}.  [default: embedded, without --target]",
    ),
    click.option(
        "--force",
        is_flag=True,
        help="Take an n-gram model though its tokenizer is not known to be the target's.",
    ),
    click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        help="Where the models run; auto: a GPU if there is one.",
    ),
    click.option(
        "--device-map",
        metavar="MAP",
        help="Spread a target that one GPU does not hold over all: auto, balanced, balanced_low_0, "
        "sequential (accelerate's), or a JSON object of a device for each module. The draft runs "
        "where the target's first layer does.",
    ),
    click.option(
        "--dtype",
        type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
        default="auto",
        help="auto: float32 on a CPU, the checkpoint's own elsewhere.",
    ),
    click.option(
        "--trust-remote-code",
        is_flag=True,
        help="Let a model repository's own code run.",
    ),
    click.option(
        "--prompts",
        metavar="FILE",
        help="A .txt (one a line), a .jsonl, .ndjson or .json (prompt, text, turns, messages or "
        "conversations), or a folder or glob of files.  [default: library sources held out from "
        "the embedded models]",
    ),
    click.option(
        "--dataset",
        metavar="NAME|FOLDER",
        help="Prompts of a Hugging Face data set, read as --prompts reads records; needs "
        "specplan[datasets].",
    ),
    click.option("--dataset-config", metavar="NAME", help="Of a data set that has several."),
    click.option(
        "--dataset-split", metavar="NAME", help="Of the data set.  [default: its only one]"
    ),
    click.option(
        "--num-prompts",
        type=click.IntRange(min=1),
        default=8,
        help="How many of the prompts to use; generate uses one.",
    ),
    click.option(
        "--prompt-tokens",
        type=click.IntRange(min=1),
        help=f"Cut each prompt to its first tokens.  [default: {EMBEDDED_PROMPT_TOKENS} for "
        "library sources, else whole]",
    ),
    click.option(
        "--chat", is_flag=True, help="Give each prompt as a user's message in the chat template."
    ),
    click.option(
        "--max-new-tokens",
        type=click.IntRange(min=1),
        default=64,
        help="Tokens after each prompt, at most.",
    ),
    click.option(
        "--draft-temperature",
        type=float,
        help="Of the draft; 0: its likeliest token, as most servers draft whatever the target's "
        "temperature. The output law is the target's at any.  [default: the target's]",
    ),
    click.option("--top-k", type=int, help="Keep the k likeliest tokens."),
    click.option("--top-p", type=float, default=1.0, help="Keep the smallest set of this mass."),
    click.option(
        "--min-p",
        type=float,
        default=0.0,
        help="Drop tokens less likely than this times the likeliest.",
    ),
    click.option(
        "--repetition-penalty",
        type=float,
        default=1.0,
        help="Weaken tokens that the text has; 1 changes nothing.",
    ),
    click.option(
        "--lattice-k",
        type=click.IntRange(min=1),
        help="Tokens of each head among which heads+RESCORER and heads*P choose.  [default: 16]",
    ),
    click.option(
        "--rescoring-weight",
        type=float,
        help="Of the rescorer beside the heads, at least 0.  [default: 1]",
    ),
]

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
    default=1.0,
    help="Accept more, lossily: no token above p/L (Leviathan et al. 2023, A.5). 1 is lossless.",
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


model_options = option_group("options", ModelOptions, OPTIONS)
