"""`specplan tree`: finds the best tree to draft, and compares it with the best chain."""

from dataclasses import dataclass

import click

from engines.kind import names_of
from simulator.acceptance.acceptance import Iid
from simulator.choice.plan import plan
from simulator.cost.cost import Cost
from simulator.schemes.tree_choice import Passes, choose_tree
from specplan.api.completed_costs import walled, with_c_hat
from specplan.api.settings import DRAFT_KINDS, Graphs
from specplan.options.answer import Pictured, answer
from specplan.options.command import Command, fill
from specplan.options.declared import Whole, option, rare, takes
from specplan.options.inputs.profile import Profiled
from specplan.options.kinds import chosen_cost, cost_kinds
from specplan.options.values import numbers, shares
from specplan.reports.draft_labels import DraftLabels
from specplan.reports.output import warn
from specplan.reports.tree_flags import OURS, tree_exports
from specplan.reports.trees import TreeRow, tree_json, tree_text

MOST_NODES, MOST_DEPTH = 256, 32


@dataclass(frozen=True)
class Trees(Pictured):
    """Options of the acceptance by rank, and of the trees to consider.

    by_rank: How often the target's token is the draft's 1st, 2nd, ... choice.  [default: the
      profile's]
    draft_pass_ms: Milliseconds of draft passes over 1, 2, 4, 8, ... tokens.  [default: --draft-ms
      for any number]
    max_nodes: The most tokens of a tree.
    max_depth: The most tokens on a path, which is also the number of draft passes.
    server: Print only the flags with which this program drafts the best tree.
    draft: The draft's name, for --export.
    draft_kind: The kind of draft, for --export.  [default: the costs' kind, else draft-model]
    """

    by_rank: tuple[float, ...] | None = option(
        "--acceptance-by-rank", callback=shares, metavar="R,R,..."
    )
    draft_pass_ms: tuple[float, ...] | None = rare(callback=numbers, metavar="MS,MS,...")
    max_nodes: int = option(type=Whole(1, MOST_NODES), default=64)
    max_depth: int = rare(type=Whole(1, MOST_DEPTH), default=MOST_DEPTH)
    server: str | None = option(
        "--export",
        type=click.Choice([*names_of(lambda kind: kind.exports and kind.exports.tree), OURS]),
    )
    draft: str | None = option(metavar="NAME")
    draft_kind: str | None = option(type=click.Choice(tuple(DRAFT_KINDS)))


_RANKS = (
    "a tree needs the acceptance of each choice: --acceptance-by-rank 0.7,0.12,0.05, or --profile"
)


@click.command("tree", cls=Command, instead={"--alpha": _RANKS})
@takes(Trees, *cost_kinds(), Graphs)
@click.pass_context
def tree_command(ctx: click.Context, /, **_: object) -> None:
    """Find the best tree to draft, and whether it beats the best chain.

    A draft that branches holds several choices of each next token, all verified in one target
    call (SpecInfer, Sequoia). Which tree is best depends on how often each choice is accepted and
    on what passes over several tokens cost: --c (passes free), times, a profile, or a GPU.

    \b
    Example:
      specplan tree --acceptance-by-rank 0.7,0.12,0.05,0.03 --c 0.05
      specplan tree --profile profile.json --export sglang
      specplan tree --profile profile.json --export specplan
      specplan tree --acceptance-by-rank 0.7,0.12,0.05,0.03 --gpu h100 \\
        --target-config T/config.json --draft-config D/config.json --batch 1,8,64
    """
    trees, rates, priced, measured = _inputs(ctx)
    rows = []
    for cost in priced:
        wall = cost.setting.wall
        captured = None if wall is None else wall.most_gamma(cost.setting.batch, trees.max_nodes)
        limits = {"max_nodes": trees.max_nodes, "max_depth": trees.max_depth}
        tree = choose_tree(rates, _passes(cost, trees), **limits, captured=captured)
        rows.append(TreeRow(tree, cost, plan(Iid(rates[0]), cost)))
    data = tree_json(rates, rows, recorded=trees.by_rank is None)
    text = tree_text(data, rows)
    if trees.server is not None:
        labels = DraftLabels(measured, DRAFT_KINDS.get(trees.draft_kind or ""), trees.draft)
        data["export"] = text = tree_exports(rows, trees.server, labels)
    answer(lambda: data, lambda: text, form=trees)
    if any(len(row.choice.best.parents) == trees.max_nodes for row in rows):
        free = any(row.cost.verification_free for row in rows)
        why = "; verification is free in these costs, so that more always gain" if free else ""
        warn(f"the best tree has all the nodes it may, --max-nodes {trees.max_nodes}{why}")


def _inputs(ctx: click.Context) -> tuple[Trees, tuple[float, ...], list[Cost], str | None]:
    """Returns the options, acceptance by rank, costs by batch, and the profile's drafter."""
    costing = chosen_cost(ctx)
    trees, costs, file, graphs = fill(ctx, [Trees, costing, Profiled, Graphs])
    if None not in (trees.by_rank, file.profile_path) and "profile_path" not in costing.reads():
        raise click.UsageError(
            "--profile cannot be combined with both --acceptance-by-rank and another cost: nothing "
            "of it is left to read"
        )
    profile, rates = file.profile, trees.by_rank
    if rates is None:
        if profile is None:
            raise click.UsageError("give --acceptance-by-rank or --profile, got neither")
        rates = profile.drafting().acceptance_by_rank
    if not rates:
        raise ValueError(
            "the profile must hold acceptance_by_rank, got none: its draft makes a single choice, "
            "or an older version measured it; measure again"
        )
    stated, wall = walled(costs.make(), graphs)
    c_hat = None if profile is None else profile.c_hat
    planned = with_c_hat(stated.planned(trees.max_nodes), c_hat)
    priced = [cost.with_setting(wall=wall) for cost in planned]
    if any(cost.draft_passes(1) is None for cost in priced):
        raise ValueError(
            "`runs` do not give the cost of verifying a tree: add `target_config`, `draft_config` "
            "and `gpu`"
        )
    if len({cost.setting.batch for cost in priced}) < len(priced):
        raise click.UsageError(f"trees take one c and one context, got {len(priced)} costs")
    return trees, rates, priced, None if profile is None else profile.setup.draft


def _passes(cost: Cost, trees: Trees) -> Passes:
    if trees.draft_pass_ms is None:
        passes = cost.draft_passes(trees.max_nodes + 1)
        assert passes is not None
        return Passes(cost, passes)
    if not cost.in_seconds or cost.setting.load is not None:
        raise click.UsageError("--draft-pass-ms needs times, such as --target-ms")
    times = {2**octave: ms / 1000 for octave, ms in enumerate(trees.draft_pass_ms)}
    return Passes(cost, times)
