"""`specplan tree`: finds the best tree to draft, and compares it with the best chain."""

import click

from specplan.options.branching import Trees, asked
from specplan.options.declared import takes
from specplan.options.graphs import Graphs
from specplan.options.kinds import cost_kinds
from specplan.options.requests import Command
from specplan.reports.output import print_json, warn
from specplan.reports.trees import TreeRow, tree_export, tree_json, tree_text


@click.command("tree", cls=Command)
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
    from simulator.schemes.tree_choice import choose_tree

    trees, rates, costs = asked(ctx)
    rows = [
        TreeRow(
            choose_tree(
                rates,
                passes,
                max_nodes=trees.max_nodes,
                max_depth=trees.max_depth,
                captured=None
                if price.wall is None
                else price.wall.most_gamma(price.batch, trees.max_nodes),
            ),
            price,
        )
        for price, passes in costs
    ]
    data, text = tree_json(rates, rows), tree_text(rates, rows)
    if trees.server is not None:
        if len(rows) > 1:
            raise click.UsageError("--export needs a single batch size")
        text = tree_export(rows[0].choice.fastest, trees.server)
        data["export"] = text
    if trees.as_json:
        print_json(data)
    else:
        click.echo(text)
    if any(len(row.choice.best.parents) == trees.max_nodes for row in rows):
        free = any(row.price.cost.verification_free for row in rows)
        why = "; verification is free in these costs, so that more always gain" if free else ""
        warn(f"the best tree has all the nodes it may, --max-nodes {trees.max_nodes}{why}")
