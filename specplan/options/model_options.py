"""The options of models, prompts, texts and engines that commands share. Imports nothing heavy."""

from collections.abc import Callable
from pathlib import Path

import click

from engines.kind import EngineKind, engine_kinds, names_of
from estimator.draft_names.kind import drafter_forms
from estimator.rule_names import RULES, VERIFICATION
from estimator.settings import EMBEDDED_PROMPT_TOKENS, MAX_GAMMA, MOST_GAMMA, PRECISION_PERCENT
from specplan.options.declared import COUNT, option, rare
from specplan.options.values import duration, integers, listing, near
from studies.bild import CERTAINTY, DISTANCE

MODELS, ON_ENGINE = "Models and prompts", "On an engine"
existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)
corpus_option = option(
    "--corpus",
    multiple=True,
    required=True,
    metavar="FILE|FOLDER",
    help="Text: .txt, .py, .jsonl, each also .gz; of a folder all of these. Repeatable.",
)
glob_option = option(
    "--glob", metavar="PATTERN", help="Which files of a folder, such as '**/*.md'."
)
# Models whose names on Hugging Face need no owner.
OWNERLESS = ("gpt2", "distilgpt2", "openai-gpt", "t5-")


def drafters(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Returns the drafters' names, refusing unknown ones; `list` prints all names and exits."""
    from estimator.draft_names.kind import drafter_forms, drafter_kinds, parse_drafter, walk
    from estimator.draft_names.models import HuggingFace

    listing(lambda: [form for kind in drafter_kinds() for form in kind.names])(ctx, param, values)
    for part in (part for value in values for part in walk(parse_drafter(value))):
        if isinstance(part, HuggingFace):
            name = part.name
            known = "/" in name or name.startswith(OWNERLESS) or Path(name).exists()
            if not known and not ctx.resilient_parsing:
                prefixes = {
                    form.partition(":")[0] for kind in drafter_kinds() for form in kind.names
                }
                raise click.BadParameter(
                    f"must be one of {drafter_forms()}; got {name!r}, which is no folder here and "
                    f"no OWNER/NAME of Hugging Face{near(name, prefixes)}"
                )
    return values


class ModelOptions:
    """Options of models, prompts and sampling.

    target: Model to accelerate: embedded, a Hugging Face name or a folder.  [default: embedded]
    force: Accept an n-gram model even if its tokenizer is not known to be the target's.
    device: Where the models run; auto: a GPU if there is one.
    device_map: Spread a target that is too large for one GPU over all: auto, balanced,
      balanced_low_0, sequential (accelerate's), or a JSON object with a device for each module. The
      draft runs on the device of the target's first layer.
    dtype: Number format; auto: float32 on a CPU, the checkpoint's own format elsewhere.
    trust_remote_code: Let a model repository's own code run.
    prompts: File, folder or glob of prompts. Formats: .txt (a prompt per line), .jsonl, .ndjson or
      .json (with prompt, text, turns, messages or conversations).  [default: library sources held
      out from the embedded models]
    dataset: Prompts of a Hugging Face data set. It is read with the keys of --prompts; needs pip
      install -e '.[datasets]'.
    dataset_config: Configuration of a data set that has several.
    dataset_split: Split of the data set.  [default: its only one]
    num_prompts: Number of prompts to use; generate uses one.
    chat: Put each prompt into the chat template, as a user's message.
    max_new_tokens: Most tokens after each prompt.
    draft_temperature: Temperature of the draft; 0: its likeliest token, the default of servers. The
      output distribution is the target's at any draft temperature.  [default: the target's]
    top_k: Keep the k likeliest tokens.
    top_p: Keep the smallest set of tokens with this probability.
    min_p: Drop tokens less likely than this times the likeliest.
    repetition_penalty: Weaken tokens that are already in the text; 1 changes nothing.
    lattice_k: Candidates per head for heads+RESCORER and heads*P.  [default: 16]
    rescoring_weight: Weight of the rescorer relative to the heads, at least 0.  [default: 1]
    """

    target = option(metavar="NAME|FOLDER")
    drafts = option(
        "--draft",
        multiple=True,
        metavar="DRAFTER",
        callback=drafters,
        help=f"{drafter_forms()}; list: print them.  [default: embedded, without --target]",
    )
    force: bool = rare()
    device = option(type=click.Choice(["auto", "cpu", "cuda"]), default="auto")
    device_map = rare(metavar="MAP")
    dtype = rare(type=click.Choice(["auto", "float32", "bfloat16", "float16"]), default="auto")
    trust_remote_code: bool = rare()
    prompts = option(metavar="FILE")
    dataset = option(metavar="NAME|FOLDER")
    dataset_config = rare(metavar="NAME")
    dataset_split = rare(metavar="NAME")
    num_prompts = option(type=COUNT, default=8)
    prompt_tokens = rare(
        type=COUNT,
        help=f"Cut each prompt to its first tokens.  [default: {EMBEDDED_PROMPT_TOKENS} for "
        "library sources, else whole]",
    )
    chat: bool = rare()
    max_new_tokens = option(type=COUNT, default=64)
    draft_temperature: float | None = rare()
    top_k: int | None = rare()
    top_p: float = rare(default=1.0)
    min_p: float = rare(default=0.0)
    repetition_penalty: float = rare(default=1.0)
    lattice_k = rare(type=COUNT)
    rescoring_weight: float | None = rare()


class TimingOptions:
    """Options of timed runs: repeats, precision and time limit."""

    repeats = option(type=COUNT, default=3, help="Timings of each run, at most.")
    precision: float = option(
        metavar="PERCENT",
        default=PRECISION_PERCENT,
        callback=duration,
        help="Stop repeating once timing errors of all speed-ups are below this, 90 % confidence.",
    )
    time_limit = rare(
        type=float,
        metavar="SECONDS",
        callback=duration,
        help="Begin no more runs after this time, for all drafts and temperatures together. Two "
        "prompts always run once; for a profile and with BiLD, all run.  [default: 120 for the "
        "embedded target, else none]",
    )


def _of(has: Callable[[EngineKind], object]) -> str:
    """Returns the titles of the engines for which `has` is true, joined by "or"."""
    return " or ".join(engine_kinds()[name].title for name in names_of(has))


def taking(setting: str) -> str:
    """Returns the titles of the engines that accept a setting, joined by "or"."""
    return _of(lambda kind: setting in kind.takes)


class EngineRunOptions:
    """Options of the engine, its drafts and its load.

    engine: Run on this engine instead of specplan's own decoder; needs pip install -e '.[engines]'.
    draft_sampling: How the engine chooses draft tokens.  [default: the engine's own]
    concurrencies: List of numbers of simultaneous requests, e.g. 1,8.
    target_url: URL of a running server with the target only.
    draft_url: URL of a running server with the draft only.
    """

    engine = option(type=click.Choice(names_of(lambda kind: kind.start)))
    engine_command = rare(
        metavar="COMMAND",
        help=f"Command that starts {taking('engine_command')}, with its own flags.  "
        "[default: vllm serve]",
    )
    draft_sampling = rare(type=click.Choice(["argmax", "sampled"]))
    concurrencies = rare("--concurrency", callback=integers, default="1")
    laws = rare(
        type=click.Choice(["engine", "local"]),
        help="Where texts are scored by both models.  [default: engine with "
        f"{_of(lambda kind: kind.scores_texts)}, else local]",
    )
    target_url = rare("--target-url", "--baseline-server", metavar="URL")
    draft_url = rare(metavar="URL")
    servers = rare(
        type=click.Choice(["together", "in-turn"]),
        help="Run the servers of all gammas at once, their runs interleaved, or in turn. At once "
        "takes the memory of all.  "
        f"[default: in-turn with {_of(lambda kind: kind.in_turn)}, else together]",
    )
    threads = option(
        type=COUNT,
        help=f"Threads that compute; with {taking('threads')}, per model.  [default: the cores "
        "that are free before the run, minus one for other programs; OMP_NUM_THREADS if set]",
    )


class BildMeasures:
    """Options of BiLD's measures of certainty and distance."""

    certainty = rare(
        type=click.Choice(["probability", "entropy"]),
        help="Measure that --fallback limits: the largest probability or 1/perplexity.  "
        f"[default: {CERTAINTY}]",
    )
    distance = rare(
        type=click.Choice(["cross-entropy", "kl", "total-variation", "disagreement"]),
        help=f"Measure that --rollback limits.  [default: {DISTANCE}]",
    )


verification_option = rare(
    "--verification",
    type=click.Choice(list(RULES)),
    default=VERIFICATION,
    help="How drafts are judged: "
    + "; ".join(f"{name}: {kind.judges}" for name, kind in RULES.items())
    + ".",
)
lenience_option = rare(
    "--lenience",
    type=float,
    help="Accept more, lossily: no token above p/L (Leviathan et al. 2023, A.5).  [default: 1, "
    "lossless]",
)
compile_option = rare(
    "--compile",
    type=click.Choice(["off", "on", "try"]),
    is_flag=False,
    flag_value="on",
    default="off",
    help="Compile both models' short passes, before anything is timed (--compile without a value: "
    "on); try: go on without where that fails.",
)
max_gamma_option = rare(
    "--max-gamma",
    type=click.IntRange(min=1, max=MOST_GAMMA),
    help=f"Longest draft of policies other than fixed.  [default: {MAX_GAMMA}]",
)
seed_option = rare(
    "--seed", type=click.IntRange(min=0), default=0, help="Seed of texts and of their order."
)
