"""The readable form of a chosen tree: its levels, its gain, and the best chain for comparison."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engines.kind import exports_of
from specplan.reports.deployment import cost_json, cost_notes, graphs_line
from specplan.reports.output import folded
from specplan.reports.possible import blocks_take_a_step, possible
from specplan.reports.table import MS, TOKENS, Column, bounds, shown, table

if TYPE_CHECKING:
    from simulator.cost.pricing import Pricing
    from simulator.schemes.tree_choice import TreeChoice, TreePlan

# Name of our own commands among the engines that draft trees.
OURS = "specplan"
# Sizes shown in the table; --json has all.
_SHOWN = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
# Relative; a tree that gains less over the chain is not worth its mask.
_WORTH = 0.01


@dataclass(frozen=True, slots=True)
class TreeRow:
    """The chosen tree at one batch size, and its pricing."""

    choice: TreeChoice
    price: Pricing

    @property
    def tokens_per_second(self) -> float | None:
        """Throughput of all sequences with the best tree; None if no load is known."""
        if self.price.load is None:
            return None
        alone = self.price.batch * self.price.cost.baseline_tokens_per_second
        return alone * self.choice.best.speedup


def tree_json(rates: Sequence[float], rows: Sequence[TreeRow]) -> dict[str, Any]:
    """Returns the choices as the JSON object of `specplan tree`, one row per batch size."""
    cost = cost_json(rows[0].price.load)
    return {"acceptance_by_rank": rates, "cost": cost, "rows": [_row_json(row) for row in rows]}


def _row_json(row: TreeRow) -> dict[str, Any]:
    choice = row.choice
    low, high = row.price.published_speeds(row.tokens_per_second) or (None, None)
    data = {
        "batch": row.price.batch,
        "best": _plan_json(choice.best, row.price),
        "chain": _plan_json(choice.chain, row.price),
        "gain_percent": 100 * (choice.best.speedup / choice.chain.speedup - 1),
        "tokens_per_second": row.tokens_per_second,
        "tokens_per_second_low": low,
        "tokens_per_second_high": high,
        "by_nodes": [_plan_json(plan, row.price) for plan in choice.by_nodes.values()],
    }
    most = max(len(plan.parents) for plan in choice.by_nodes.values())
    return possible(data, bounded=blocks_take_a_step(row.price.cost, most))


def _plan_json(plan: TreePlan, price: Pricing) -> dict[str, Any]:
    nodes, wall = len(plan.parents), price.wall
    return {
        "nodes": nodes,
        "beyond_graphs": wall is not None and wall.beyond(price.batch, nodes),
        "depth": plan.depth,
        "widest": plan.widest,
        "expected_tokens": plan.tokens,
        "improvement_factor": plan.speedup,
        "parents": plan.parents,
    }


def tree_text(rates: Sequence[float], rows: Sequence[TreeRow]) -> str:
    """Returns the best trees as text; arguments as in tree_json."""
    ranks = ", ".join(f"{rate:.3f}" for rate in rates[:8])
    more = ", ..." if len(rates) > 8 else ""
    opening = folded(f"acceptance by rank {ranks}{more}; sum {sum(rates):.3f}")
    trees = _sizes(rows[0]) if len(rows) == 1 else table(rows, _columns(rows))
    lines = ["(of the trees that yield most tokens at their size and depth)", ""]
    for row in rows:
        prefix = "" if len(rows) == 1 else f"Batch {row.price.batch}: "
        lines.append(prefix + _advice(row))
        if row.tokens_per_second is not None:
            speeds = row.price.published_speeds(row.tokens_per_second)
            between = "" if speeds is None else f" {bounds(*speeds, '.0f')}"
            lines.append(f"{row.tokens_per_second:.0f} tokens/s in all{between}.")
    lines += _captured(rows)
    lines += cost_notes([row.price.load for row in rows])
    return "\n".join([opening, "", trees, *map(folded, lines)])


def _captured(rows: Sequence[TreeRow]) -> list[str]:
    """Returns a line on the tree sizes that are not chosen because of captured graphs."""
    wall, largest = rows[0].price.wall, max(rows[0].choice.by_nodes)
    if wall is None or not any(wall.beyond(row.price.batch, largest) for row in rows):
        return []
    most = {row.price.batch: wall.most_gamma(row.price.batch, largest) for row in rows}
    limits = [f"{each} at batch {batch}" for batch, each in most.items() if each < largest]
    few = f" Nodes chosen at most: {', '.join(limits)}." if limits else ""
    return [f"{graphs_line(wall)}.{few}"]


def _sizes(row: TreeRow) -> str:
    """Returns a table of the best trees of several sizes."""
    choice, wall, batch = row.choice, row.price.wall, row.price.batch
    return table(
        [plan for nodes, plan in choice.by_nodes.items() if nodes in _SHOWN],
        [
            Column("nodes", lambda plan: str(len(plan.parents))),
            Column("depth", lambda plan: str(plan.depth)),
            Column("tokens per call", lambda plan: shown(plan.tokens)),
            Column("speed-up", lambda plan: shown(plan.speedup)),
        ],
        best=lambda plan: plan == choice.best,
        note=lambda plan: "!" if wall and wall.beyond(batch, len(plan.parents)) else "",
    )


_COLUMNS = [
    Column[TreeRow]("batch", lambda row: str(row.price.batch)),
    Column[TreeRow]("nodes", lambda row: str(len(row.choice.best.parents))),
    Column[TreeRow]("depth", lambda row: str(row.choice.best.depth)),
    Column[TreeRow]("tokens per call", lambda row: shown(row.choice.best.tokens)),
    Column[TreeRow]("speed-up", lambda row: shown(row.choice.best.speedup)),
    Column[TreeRow]("chain K", lambda row: str(len(row.choice.chain.parents))),
    Column[TreeRow]("speed-up", lambda row: shown(row.choice.chain.speedup)),
]


def _columns(rows: Sequence[TreeRow]) -> list[Column[TreeRow]]:
    """Returns the columns of a table of loads, with times if they are known."""
    if any(row.tokens_per_second is None for row in rows):
        return _COLUMNS
    return [
        *_COLUMNS,
        Column(MS, lambda row: shown(1e3 * row.price.batch / (row.tokens_per_second or math.inf))),
        Column(TOKENS, lambda row: shown(row.tokens_per_second, ".1f")),
    ]


def _advice(row: TreeRow) -> str:
    from simulator.schemes.trees import depths_and_ranks

    choice, wall = row.choice, row.price.wall
    best, chain = choice.best, choice.chain
    if wall is not None and wall.crossed(row.price.batch, 1):
        return "do not speculate: even 1 token exceeds the captured graphs."
    if not choice.fastest.parents:
        return "do not speculate: neither a tree nor a chain pays."
    if best.speedup <= chain.speedup * (1 + _WORTH):
        return (
            f"a tree gains less than {100 * _WORTH:.0f} % over the chain of {len(chain.parents)} "
            f"({chain.speedup:.2f})."
        )
    levels = Counter(depths_and_ranks(best.parents)[0])
    width = " + ".join(str(levels[depth]) for depth in sorted(levels))
    beside = f"the chain of {len(chain.parents)}" if chain.parents else "no draft"
    return (
        f"a tree of {len(best.parents)} ({width} by level) gives {best.speedup:.2f}, "
        f"{100 * (best.speedup / chain.speedup - 1):.0f} % over {beside}."
    )


def tree_export(best: TreePlan, program: str) -> str:
    """Returns the flags that run a tree, or a draft that does not branch.

    An engine grows its own tree within these bounds, by the draft's probabilities, so the shape
    varies. `specplan generate` and `validate` (server "specplan") draft exactly this tree, from the
    draft's likeliest tokens.
    """
    if not best.parents:
        return "# no tree pays: run the target without a draft"
    if program == OURS:
        if best.widest == 1:
            return f"--draft MODEL --gamma {best.depth} --draft-temperature 0"
        parents = ",".join(map(str, best.parents))
        return f"--draft 'MODEL tree:{parents}' --gamma {best.depth} --draft-temperature 0"
    tree = exports_of(program).tree
    if tree is None:
        raise ValueError(f"an engine to export a tree for must draft trees, got {program}")
    return tree(best.depth, best.widest, len(best.parents))
