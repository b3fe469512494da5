"""The options of models, prompts, texts and engines that commands share. Imports nothing heavy."""

from collections.abc import Callable
from pathlib import Path

import click

from engines.kind import EngineKind, EngineSettings, engine_kinds, names_of
from estimator.draft_names.kind import drafter_forms
from estimator.rule_names import RULES, VERIFICATION
from estimator.settings import (
    MAX_GAMMA,
    MOST_GAMMA,
    ModelSettings,
    PromptSettings,
    PromptSource,
    SamplingSettings,
    TargetSettings,
    TimingSettings,
)
from specplan.options.declared import COUNT, Whole, declare, option, rare
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


declare(
    TargetSettings,
    target=option(metavar="NAME|FOLDER"),
    device=option(type=click.Choice(["auto", "cpu", "cuda"])),
    device_map=rare(metavar="MAP"),
    dtype=rare(type=click.Choice(["auto", "float32", "bfloat16", "float16"])),
    trust_remote_code=rare(),
)
declare(
    ModelSettings,
    drafts=option(
        "--draft",
        multiple=True,
        metavar="DRAFTER",
        callback=drafters,
        help=f"{drafter_forms()}; list: print them.  [default: embedded, without --target]",
    ),
    force=rare(),
    lattice_k=rare(type=COUNT),
    rescoring_weight=rare(),
)
declare(
    PromptSource,
    prompts=option(metavar="FILE"),
    dataset=option(metavar="NAME|FOLDER"),
    dataset_config=rare(metavar="NAME"),
    dataset_split=rare(metavar="NAME"),
    prompt_tokens=rare(type=COUNT),
    chat=rare(),
    max_new_tokens=option(type=COUNT),
)
declare(PromptSettings, num_prompts=option(type=COUNT))
declare(SamplingSettings, top_k=rare(), top_p=rare(), min_p=rare(), repetition_penalty=rare())
declare(
    TimingSettings,
    repeats=option(type=COUNT),
    precision=option(metavar="PERCENT", callback=duration),
    time_limit=rare(metavar="SECONDS", callback=duration),
)


class DraftOptions:
    """How the draft samples.

    draft_temperature: Temperature of the draft; 0: its likeliest token, the default of servers. The
      output distribution is the target's at any draft temperature.  [default: the target's]
    """

    draft_temperature: float | None = rare()


# Records of models and prompts, in the order of the help.
MODEL_RECORDS = (TargetSettings, ModelSettings, PromptSettings, SamplingSettings)


def _of(has: Callable[[EngineKind], object]) -> str:
    """Returns the titles of the engines for which `has` is true, joined by "or"."""
    return " or ".join(engine_kinds()[name].title for name in names_of(has))


def taking(setting: str) -> str:
    """Returns the titles of the engines that accept a setting, joined by "or"."""
    return _of(lambda kind: setting in kind.takes)


declare(
    EngineSettings,
    engine=option(type=click.Choice(names_of(lambda kind: kind.start))),
    engine_command=rare(
        metavar="COMMAND",
        help=f"Command that starts {taking('engine_command')}, with its own flags.  "
        "[default: vllm serve]",
    ),
    draft_sampling=rare(type=click.Choice(["argmax", "sampled"])),
    concurrencies=rare("--concurrency", callback=integers, default="1"),
    laws=rare(
        type=click.Choice(["engine", "local"]),
        help="Where texts are scored by both models.  [default: engine with "
        f"{_of(lambda kind: kind.scores_texts)}, else local]",
    ),
    target_url=rare("--target-url", "--baseline-server", metavar="URL"),
    draft_url=rare(metavar="URL"),
    servers=rare(
        type=click.Choice(["together", "in-turn"]),
        help="Run the servers of all gammas at once, their runs interleaved, or in turn. At once "
        "takes the memory of all.  "
        f"[default: in-turn with {_of(lambda kind: kind.in_turn)}, else together]",
    ),
    threads=option(
        type=COUNT,
        help=f"Threads that compute; with {taking('threads')}, per model.  [default: the cores "
        "that are free before the run, minus one for other programs; OMP_NUM_THREADS if set]",
    ),
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
    type=Whole(1, MOST_GAMMA),
    help=f"Longest draft of policies other than fixed.  [default: {MAX_GAMMA}]",
)
seed_option = rare("--seed", type=Whole(0), default=0, help="Seed of texts and of their order.")
