"""The options of `specplan tree`: acceptance by rank, costs, and the trees to consider."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from engines.kind import names_of
from specplan.options.answers import Printed
from specplan.options.costs.profile import Profiled
from specplan.options.declared import option, rare
from specplan.options.graphs import Graphs, walled
from specplan.options.kinds import Background, chosen_cost, prices
from specplan.options.ranges import numbers, shares
from specplan.options.requests import fill
from specplan.reports.trees import OURS

if TYPE_CHECKING:
    from simulator.cost.pricing import Pricing
    from simulator.schemes.tree_choice import Passes

MOST_NODES, MOST_DEPTH = 256, 32


@dataclass(frozen=True)
class Trees(Printed):
    """Acceptance by rank, and the trees to consider; see each option's help."""

    by_rank: tuple[float, ...] | None = option(
        "--acceptance-by-rank",
        callback=shares,
        metavar="R,R,...",
        help="How often the target's token is the draft's 1st, 2nd, ... choice.  "
        "[default: the profile's]",
    )
    draft_pass_ms: tuple[float, ...] | None = rare(
        callback=numbers,
        metavar="MS,MS,...",
        help="Draft passes over 1, 2, 4, 8, ... tokens.  [default: --draft-ms, over any]",
    )
    max_nodes: int = option(
        type=click.IntRange(1, MOST_NODES), default=64, help="The most tokens of a tree."
    )
    max_depth: int = rare(
        type=click.IntRange(1, MOST_DEPTH),
        default=12,
        help="The most tokens that follow each other, which is the draft's passes.",
    )
    server: str | None = option(
        "--export",
        type=click.Choice([*names_of(lambda kind: kind.exports and kind.exports.tree), OURS]),
        help="Print only what sets the best there.",
    )


def asked(
    ctx: click.Context,
) -> tuple[Trees, tuple[float, ...], tuple[tuple[Pricing, Passes], ...]]:
    """Returns the arguments of `specplan tree` from its options.

    Returns:
      the options, the acceptance by rank, and for each batch size a pricing and the times of passes
      over trees.
    """
    costing = chosen_cost(ctx)
    trees, costs, file, graphs = fill(ctx, [Trees, costing, Profiled, Graphs])
    if None not in (trees.by_rank, file.profile_path) and "profile_path" not in costing.reads():
        raise click.UsageError(
            "--profile cannot be combined with both --acceptance-by-rank and another cost: nothing "
            "of it is left to read"
        )
    profile = file.read()
    rates = trees.by_rank
    if rates is None:
        if profile is None:
            raise click.UsageError("give --acceptance-by-rank or --profile, got neither")
        rates = profile.drafting().acceptance_by_rank
    if not rates:
        raise ValueError(
            "the profile must hold acceptance_by_rank, got none: its draft makes a single choice, "
            "or an older version measured it; measure again"
        )
    costs, wall = walled(costs, graphs)
    background = Background(profile, max_gamma=trees.max_nodes)
    priced = [replace(each, wall=wall) for each in prices(costs, background)]
    if any(price.posterior is not None and price.draft_passes is None for price in priced):
        raise click.UsageError(
            "--run does not give the cost of verifying a tree: add --target-config, "
            "--draft-config and --gpu"
        )
    if len({price.batch for price in priced}) < len(priced):
        raise click.UsageError(f"trees take one c and one context, got {len(priced)} costs")
    return trees, rates, tuple((price, _passes(price, trees)) for price in priced)


def _passes(price: Pricing, trees: Trees) -> Passes:
    from simulator.schemes.tree_choice import Passes

    if trees.draft_pass_ms is None:
        return Passes(price.cost, price.draft_pass_seconds(trees.max_nodes + 1))
    if not price.cost.in_seconds or price.load is not None:
        raise click.UsageError("--draft-pass-ms needs times, such as --target-ms")
    return Passes(
        price.cost, {2**octave: ms / 1000 for octave, ms in enumerate(trees.draft_pass_ms)}
    )
