"""`specplan tree`: the best tree to draft, and whether it beats the best chain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engines.registry import names_of
from specplan.options.cost import CostOptions, cost_options, pricings
from specplan.options.deployment import (
    DEFAULT_CONTEXT,
    DeploymentOptions,
    LoadOptions,
    deployment_options,
    load_options,
)
from specplan.options.groups import option_group
from specplan.options.json_option import json_option
from specplan.options.ranges import numbers, shares
from specplan.options.roofline import deployment_of
from specplan.options.stated import given
from specplan.reports.output import folded, print_json, warn
from specplan.reports.trees import tree_export, tree_json, tree_text

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from simulator.schemes.tree_choice import Passes

MOST_NODES, MOST_DEPTH = 256, 32
TREE_ENGINES = names_of(lambda kind: kind.exports and kind.exports.tree)


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """How often which choice stands, and which trees to consider; see each option's help."""

    by_rank: tuple[float, ...] | None
    profile_path: Path | None
    draft_pass_ms: tuple[float, ...] | None
    max_nodes: int
    max_depth: int
    export: str | None
    as_json: bool


tree_options = option_group(
    "options",
    TreeOptions,
    [
        click.option(
            "--acceptance-by-rank",
            "by_rank",
            callback=shares,
            metavar="R,R,...",
            help="How often the target's token is the draft's 1st, 2nd, ... choice.",
        ),
        click.option(
            "--profile",
            "profile_path",
            type=click.Path(path_type=Path),
            help="These rates and costs from a file that `specplan measure` wrote.",
        ),
        click.option(
            "--draft-pass-ms",
            callback=numbers,
            metavar="MS,MS,...",
            help="Draft passes over 1, 2, 4, 8, ... tokens.  [default: --draft-ms, over any]",
        ),
        click.option(
            "--max-nodes",
            type=click.IntRange(1, MOST_NODES),
            default=64,
            help="The most tokens of a tree.",
        ),
        click.option(
            "--max-depth",
            type=click.IntRange(1, MOST_DEPTH),
            default=12,
            help="The most tokens that follow each other, which is the draft's passes.",
        ),
        click.option(
            "--export",
            type=click.Choice([*TREE_ENGINES, "specplan"]),
            help="Print only what sets the best there.",
        ),
        json_option,
    ],
)


@click.command("tree")
@tree_options
@cost_options
@deployment_options
@load_options
def tree_command(
    options: TreeOptions, cost: CostOptions, deployment: DeploymentOptions, load: LoadOptions
) -> None:
    """Find the best tree to draft, and whether it beats the best chain.

    A draft that branches holds several choices of each next token, all verified in one target
    call (SpecInfer, Sequoia). Which tree is best follows from how often which choice stands and
    from what passes over several tokens cost: --c (passes free), times, a profile, or a GPU.

    \b
    Example:
      specplan tree --acceptance-by-rank 0.7,0.12,0.05,0.03 --c 0.05
      specplan tree --profile profile.json --export sglang
      specplan tree --profile profile.json --export specplan
      specplan tree --acceptance-by-rank 0.7,0.12,0.05,0.03 --gpu h100 \\
        --target-config T/config.json --draft-config D/config.json --batch 1,8,64
    """
    from simulator.schemes.tree_choice import choose_tree

    profile = None if options.profile_path is None else _read(options.profile_path)
    rates = _rates(options, profile)
    costs = _costs(options, cost, deployment, load, profile)
    choices = {
        batch: choose_tree(
            rates, price, max_nodes=options.max_nodes, max_depth=options.max_depth
        )
        for batch, price in costs.items()
    }
    if options.export is not None:
        if len(choices) > 1:
            raise click.UsageError("--export needs a single batch size")
        [choice] = choices.values()
        click.echo(tree_export(choice.best, options.export))
        return
    by_roofline = deployment.target_config is not None
    speeds = {batch: batch / price.chain.baseline_seconds for batch, price in costs.items()}
    roofline = speeds if by_roofline else {}
    if options.as_json:
        print_json(tree_json(rates, choices, roofline=roofline))
    else:
        click.echo(folded(tree_text(rates, choices, roofline=roofline)))
    if any(len(choice.best.parents) == options.max_nodes for choice in choices.values()):
        free = "; --c takes verifying as free, so that more always gain" if cost.c else ""
        warn(f"the best tree has all the nodes it may, --max-nodes {options.max_nodes}{free}")


def _read(path: Path) -> Profile:
    from estimator.profiles.profile_file import read_profile

    return read_profile(path)


def _rates(options: TreeOptions, profile: Profile | None) -> tuple[float, ...]:
    stated: dict[str, Any] = {
        "--acceptance-by-rank": options.by_rank, "--profile": options.profile_path
    }
    if not given(stated):
        raise click.UsageError("give --acceptance-by-rank or --profile, got neither")
    if options.by_rank is not None:
        return options.by_rank
    assert profile is not None
    rates = profile.drafting().acceptance_by_rank
    if not rates:
        raise ValueError(
            "the profile must hold acceptance_by_rank, got none: its draft makes one choice "
            "alone, or it was measured before; measure anew"
        )
    return rates


def _costs(
    options: TreeOptions,
    cost: CostOptions,
    deployment: DeploymentOptions,
    load: LoadOptions,
    profile: Profile | None,
) -> dict[int, Passes]:
    """Returns what passes cost by batch size."""
    from simulator.schemes.tree_choice import Passes, roofline_passes

    also = given({"--batch": load.batch, "--context": load.context})
    deployed = deployment_of(deployment, also=also)
    if deployed is not None:
        if cost.c is not None or cost.target_ms is not None or options.draft_pass_ms is not None:
            raise click.UsageError("times and --c cannot be combined with --target-config")
        contexts = (DEFAULT_CONTEXT,) if load.context is None else load.context
        if len(contexts) > 1:
            raise click.UsageError("--context must be one number for trees")
        batches = (1,) if load.batch is None else load.batch
        return {
            batch: roofline_passes(
                deployed, context=contexts[0], batch=batch, max_nodes=options.max_nodes
            )
            for batch in batches
        }
    [pricing, *others] = pricings(cost, roofline=None, profile=profile)
    if others:
        raise click.UsageError("--c must be one number for trees")
    price = pricing.cost
    if options.draft_pass_ms is None:
        curve = {1: price.c * price.step_seconds}
    else:
        if not price.in_seconds:
            raise click.UsageError("--draft-pass-ms cannot be combined with --c")
        curve = {2**octave: ms / 1000 for octave, ms in enumerate(options.draft_pass_ms)}
    return {1: Passes(price, curve)}
