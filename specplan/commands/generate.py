"""`specplan generate`: watch speculative decoding work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from specplan.options.bild_options import OneBild, given, one_bild_options, refuse_with_bild
from specplan.options.json_option import json_option
from specplan.options.model_options import (
    MOST_GAMMA,
    ModelOptions,
    compile_option,
    lenience_option,
    model_options,
    verification_option,
)
from specplan.options.requests import Command
from specplan.reports.generation import generation_data, print_blocks
from specplan.reports.output import folded, print_json

if TYPE_CHECKING:
    from estimator.loading.pairs import Loaded
    from reference.laws.sampling import Sampling
    from reference.policies.policy import Policy
    from reference.records import Block, Generation
    from reference.rules.rule import Rule


@click.command("generate", cls=Command)
@model_options
@compile_option
@click.option("--prompt", help="Text to continue.  [default: the first of the prompts]")
@click.option(
    "--gamma", type=click.IntRange(1, MOST_GAMMA), default=4, help="Drafted tokens per block."
)
@click.option(
    "--policy",
    "policy_name",
    default="fixed",
    metavar="POLICY",
    help="fixed (--gamma), heuristic, confidence:P, or adaptive, which measures costs first.",
)
@click.option(
    "--max-gamma",
    type=click.IntRange(min=1, max=MOST_GAMMA),
    default=16,
    help="Longest draft of policies other than fixed.",
)
@lenience_option
@verification_option
@click.option("--temperature", type=float, default=1.0, help="Of the target; 0 is greedy.")
@click.option(
    "--stop",
    "stop_strings",
    multiple=True,
    metavar="TEXT",
    help="End with the token that completes this text; repeatable.",
)
@click.option(
    "--decoder",
    type=click.Choice(["autoregressive", "speculative", "bild", "beam"]),
    default="speculative",
    help="autoregressive: the target alone; bild: lossy, by thresholds (Kim et al. 2023); beam: "
    "beam search, drafted --gamma steps ahead (Leviathan et al. 2023, A.4).",
)
@click.option(
    "--beams", type=click.IntRange(min=1), help="Width of --decoder beam.  [default: 4]"
)
@click.option(
    "--draft-beams",
    type=click.IntRange(min=1),
    help="Width of the draft's search, at least --beams.  [default: twice --beams]",
)
@one_bild_options
@click.option(
    "--show",
    is_flag=True,
    help="One line per block: accepted draft tokens green, rejected ones red, the target's blue.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of the tokens drawn.")
@json_option
def generate_command(
    options: ModelOptions,
    compiling: str,
    prompt: str | None,
    gamma: int,
    policy_name: str,
    max_gamma: int,
    lenience: float,
    verification: str,
    temperature: float,
    stop_strings: tuple[str, ...],
    decoder: str,
    beams: int | None,
    draft_beams: int | None,
    bild: OneBild,
    show: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Generate text speculatively and watch it work.

    Text appears as it is decoded, block by block; the counts go to stderr.

    \b
    Example:
      specplan generate --prompt "def fib(n):" --gamma 4 --show
      specplan generate --target T --draft D --chat --stop "." \\
        --prompt "Why is the sky blue?"
      specplan generate --decoder bild --fallback 0.6 --rollback 2 \\
        --temperature 0 --show
      specplan generate --decoder beam --beams 4 --prompt "def fib(n):"
    """
    from estimator.loading.pairs import (
        draft_names,
        load,
        require_rule,
    )
    from estimator.rules.registry import acceptance_rule
    from estimator.runs.processes import require_one_process
    from estimator.settings import TargetSettings, draft_sampling
    from reference.records import Generation
    from specplan.options.policy_names import parse_policies

    require_one_process("generate")
    if decoder == "beam":
        from specplan.commands.generate_beams import generate_beams

        bild.require_absent()
        generate_beams(
            options, prompt, width=beams, draft_width=draft_beams, gamma=gamma, as_json=as_json
        )
        return
    for name, value in (("beams", beams), ("draft_beams", draft_beams)):
        if value is not None:
            raise ValueError(f"{name} needs --decoder beam, got it without")
    if prompt is not None and not prompt.strip():
        raise ValueError("prompt must not be empty, got an empty one")
    for source, named in (("prompts", options.prompts), ("dataset", options.dataset)):
        if prompt is not None and named is not None:
            raise ValueError(f"prompt and {source} cannot both be given")
    if "" in stop_strings:
        raise ValueError("a stop string must have at least one character, got ''")
    policy: Policy | None
    rule: Rule
    if decoder == "bild":
        refuse_with_bild(["policy_name", "gamma", "lenience", "verification"])
        policy, rule = bild.policy_and_rule(most=given("max_gamma", max_gamma))
    else:
        bild.require_absent()
        [policy] = parse_policies([policy_name], gammas=[gamma], max_gamma=max_gamma).values()
        rule = acceptance_rule(verification, lenience)
    sampling = options.settings.at(temperature)
    samplings = sampling, draft_sampling(sampling, options.draft_temperature)
    names = () if decoder == "autoregressive" else draft_names(options.models)
    if len(names) > 1:
        raise ValueError(f"draft must be given once, got {', '.join(names)}")
    require_rule(names, rule)
    drafted = (gamma,) if policy_name == "fixed" else (gamma, max_gamma)
    loaded = load(
        options.models if names else TargetSettings(
            target=options.target, device=options.device, device_map=options.device_map,
            dtype=options.dtype, trust_remote_code=options.trust_remote_code,
        ),
        replace(options.text, num_prompts=1),
        sampling=options.settings,
        prompt=prompt,
        compiling=compiling,
        gammas=drafted,
    )
    [ids] = loaded.prompts
    text, prefill_seconds, stream = _begin(
        loaded, ids, policy, samplings, rule, stop_strings, max_gamma=max_gamma, seed=seed
    )
    if as_json:
        blocks = list(stream)
    else:
        before = [] if options.chat or text != ids else ids
        blocks = print_blocks(stream, loaded.tokenizer, before, show)
    generation = Generation(tuple(text), tuple(blocks), prefill_seconds)
    if as_json:
        print_json(generation_data(generation, loaded.tokenizer) | {"lossless": rule.lossless})
        return
    counts = (
        f"\n{len(generation.tokens)} tokens in {generation.target_calls} target calls, "
        f"{generation.decode_seconds:.2f} s; {generation.accepted} of {generation.drafted} "
        f"drafted tokens accepted; ended by {generation.ending}."
        + (_bild_counts(generation) if decoder == "bild" else "")
        + ("" if rule.lossless else f" Lossy: the rule {rule.name} changes the output law.")
    )
    click.echo(folded(counts), err=True)


def _bild_counts(generation: Generation) -> str:
    """Returns what the small model asked for and the large one undid (Table 4's percentages)."""
    tokens = len(generation.tokens)
    return (
        f" {generation.draft_calls} calls of the small model; fallback "
        f"{100 * generation.target_calls / tokens:.1f} %, rollback "
        f"{100 * generation.rollbacks / tokens:.1f} % of the tokens."
    )


def _begin(
    loaded: Loaded,
    ids: Sequence[int],
    policy: Policy | None,
    samplings: tuple[Sampling, Sampling],
    rule: Rule,
    stop_strings: tuple[str, ...],
    *,
    max_gamma: int,
    seed: int,
) -> tuple[list[int], float, Iterator[Block]]:
    """Returns the text to continue, the seconds of its prefill, and the blocks to come.

    Without a drafter the target decodes alone; a policy of None stands for the adaptive one.
    """
    from estimator.runs.arms import Subject
    from estimator.runs.planner import adaptive
    from estimator.seeding import seeded
    from reference.autoregressive import autoregressive_blocks
    from reference.generation import begin, beginning
    from reference.speculative import speculative_blocks
    from reference.stopping import StopStrings
    from studies.bild.fallback import Fallback
    from studies.bild.loop import bild_blocks
    from studies.bild.sweep import drafting_model

    target, stopping = loaded.target, loaded.stopping
    sampling, draft_sampling = samplings
    generator = seeded(target.device, seed)
    if stop_strings:
        strings = StopStrings(stop_strings, loaded.tokenizer.decode)
        stopping = replace(stopping, stop_strings=strings)
    if not loaded.drafters:
        text, seconds = begin(target, None, ids, stopping)
        return text, seconds, autoregressive_blocks(
            target, text, sampling=sampling, stopping=stopping, generator=generator
        )
    [drafter_of] = loaded.drafters.values()
    drafter = drafter_of(draft_sampling)
    if isinstance(policy, Fallback):
        drafting_model(drafter)
        policy = replace(policy, end_ids=stopping.end_ids)
    if policy is None:
        beginning(target, ids, stopping)   # refuses what does not fit before costs are measured
        subject = Subject(target, drafter, sampling, loaded.stopping, rule)
        policy = adaptive(
            subject, [ids], max_gamma=max_gamma, seed=seed, progress=lambda: None
        )
    text, seconds = begin(target, drafter, ids, stopping)
    blocks = bild_blocks if isinstance(policy, Fallback) else speculative_blocks
    return text, seconds, blocks(
        target,
        drafter,
        text,
        sampling=sampling,
        policy=policy,
        stopping=stopping,
        generator=generator,
        rule=rule,
    )
