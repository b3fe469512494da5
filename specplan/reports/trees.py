"""Chosen draft trees as text and JSON: levels, gain, and the best chain for comparison."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simulator.choice.odds import percentage
from simulator.choice.plan import Plan
from simulator.cost.cost import Cost
from simulator.cost.fitted.contradictions import contradictions
from simulator.numerics.intervals import percent
from simulator.schemes.tree_choice import TreeChoice, TreePlan
from simulator.schemes.trees import depths_and_ranks
from specplan.reports.basis import rests_on
from specplan.reports.deployment import cost_json, cost_notes, graphs_line, published_speeds
from specplan.reports.next_run import next_line, runs_named, wide_lines
from specplan.reports.table import MS, TOKENS, blocks_take_a_step, bounds, folded, possible, table

# Sizes shown in the table; --json has all.
_SHOWN = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
# A tree whose relative gain over the chain is smaller is not worth its attention mask.
WORTH = 0.01

# Which trees are compared.
SHAPES = "Trees are those that yield most tokens at their size and depth."


class TreeRow(NamedTuple):
    """The trees chosen at one batch size, the cost of their steps, and the plan of chains."""

    choice: TreeChoice
    cost: Cost
    plan: Plan

    @property
    def advised(self) -> TreePlan:
        """The best tree; the chain, which needs no mask, if a tree gains less than WORTH more."""
        fastest, chain = self.choice.fastest, self.choice.chain
        return fastest if fastest.speedup > chain.speedup * (1 + WORTH) else chain


def tree_json(
    rates: Sequence[float], rows: Sequence[TreeRow], *, recorded: bool = False
) -> dict[str, Any]:
    """Returns the chosen trees as JSON, one row per batch size; rates: acceptance by rank.

    recorded: whether acceptance and costs are a profile's.
    """
    whose = "the profile's" if recorded else "your"
    costs = [row.cost for row in rows]
    return {
        "sentence": " ".join([*_undecided(rows), *_advised(rows), *_sure(rows)]),
        "basis": rests_on(f"{whose} acceptance by rank", costs, recorded=recorded),
        "acceptance_by_rank": rates,
        "cost": cost_json(rows[0].cost.setting.load),
        "rows": [_row_json(row) for row in rows],
        "notes": [SHAPES, *_notes(rows)],
    }


def _notes(rows: Sequence[TreeRow]) -> list[str]:
    """Returns sentences on captured graphs, and on the source of costs."""
    wall, largest = rows[0].cost.setting.wall, max(rows[0].choice.by_nodes)
    batches, notes = [row.cost.setting.batch for row in rows], []
    if wall is not None and any(wall.beyond(batch, largest) for batch in batches):
        most = {batch: wall.most_gamma(batch, largest) for batch in batches}
        limits = [f"{few} at batch {batch}" for batch, few in most.items() if few < largest]
        few = f" Nodes chosen at most: {', '.join(limits)}." if limits else ""
        notes = [f"{graphs_line(wall)}.{few}"]
    known = rows[0].cost.posterior
    notes += () if known is None else contradictions(known.runs)
    return [*notes, *cost_notes([row.cost.setting.load for row in rows])]


def _row_json(row: TreeRow) -> dict[str, Any]:
    choice, cost, speed = row.choice, row.cost, None
    if cost.setting.load is not None:
        speed = cost.setting.batch / cost.baseline_seconds * choice.best.speedup

    def plan_json(plan: TreePlan) -> dict[str, Any]:
        nodes = len(plan.parents)
        return {
            "nodes": nodes,
            "beyond_graphs": bool(cost.setting.beyond_graphs(nodes)),
            "depth": plan.depth,
            "widest": plan.widest,
            "expected_tokens": plan.tokens,
            "improvement_factor": plan.speedup,
            "parents": plan.parents,
        }

    low, high = published_speeds(cost.setting, speed) or (None, None)
    data = {
        "batch": cost.setting.batch,
        "best": plan_json(choice.best),
        "chain": plan_json(choice.chain) | _ends(row),
        "gain_percent": 100 * (choice.best.speedup / choice.chain.speedup - 1),
        "tokens_per_second": speed,
        "tokens_per_second_low": low,
        "tokens_per_second_high": high,
        "by_nodes": [plan_json(plan) for plan in choice.by_nodes.values()],
        "test_gamma": row.plan.advice.test_gamma,
        "gain_probability": row.plan.advice.gain_probability,
    }
    return possible(data, bounded=blocks_take_a_step(cost, max(choice.by_nodes)))


def tree_text(data: Mapping[str, Any], rows: Sequence[TreeRow]) -> str:
    """Returns the best trees as text; data: the result of `tree_json`."""
    rates = data["acceptance_by_rank"]
    ranks, more = ", ".join(f"{rate:.3f}" for rate in rates[:8]), ", ..." if len(rates) > 8 else ""
    opening = folded(f"acceptance by rank {ranks}{more}; sum {sum(rates):.3f}")
    lines = ["(of the trees that yield most tokens at their size and depth)", ""]
    lines += _undecided(rows)
    for advised, numbers in zip(_advised(rows), data["rows"], strict=True):
        lines.append(advised)
        speed, low, high = (numbers[f"tokens_per_second{end}"] for end in ("", "_low", "_high"))
        if speed is not None:
            lines.append(f"{speed:.0f} tokens/s in all {bounds(low, high, '.0f')}".rstrip() + ".")
    lines += [*_sure(rows), *_notes(rows)]
    several = table(data["rows"], batch_columns(data["rows"]))
    trees = _sizes(data["rows"][0]) if len(rows) == 1 else several
    return "\n".join([opening, "", trees, *map(folded, lines)])


def _sizes(choice: Mapping[str, Any]) -> str:
    """Returns a table of the fastest tree of each size; choice: one row of `tree_json`."""
    columns = [("nodes", "{nodes}"), ("depth", "{depth}"),
               ("tokens per call", "{expected_tokens:.2f}"),
               ("speed-up", "{improvement_factor:.2f}")]  # fmt: skip
    rows = [plan for plan in choice["by_nodes"] if plan["nodes"] in _SHOWN]
    best, mark = choice["best"], "beyond_graphs"
    return table(rows, columns, best=lambda plan: plan == best, note=lambda plan: "!" * plan[mark])


def batch_columns(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, Any]]:
    """Returns the columns of a table of the best tree at each batch size."""
    columns: list[tuple[str, Any]] = [
        ("batch", "{batch}"), ("nodes", "{best[nodes]}"), ("depth", "{best[depth]}"),
        ("tokens per call", "{best[expected_tokens]:.2f}"),
        ("tree's speed-up", "{best[improvement_factor]:.2f}"),
        ("chain K", "{chain[nodes]}"), ("chain's speed-up", "{chain[improvement_factor]:.2f}"),
    ]  # fmt: skip
    if all(cells["tokens_per_second"] is not None for cells in rows):
        columns += [
            (MS, lambda cells: f"{1e3 * cells['batch'] / cells['tokens_per_second']:.2f}"),
            (TOKENS, "{tokens_per_second:.1f}"),
        ]
    return columns


def _undecided(rows: Sequence[TreeRow]) -> list[str]:
    """Returns sentences on the runs that must show whether drafts gain; [] if that is decided."""
    some = [row for row in rows if row.plan.advice.undecided]
    if not some:
        return []
    odds = percentage(*(row.plan.advice.gain_probability or 0.0 for row in some))
    batches, load = [row.cost.setting.batch for row in some], some[0].cost.setting.load
    where = f" at batch {', '.join(map(str, batches))}" if len(some) < len(rows) else ""
    gammas = sorted({0, *(row.plan.advice.named for row in some)})
    context = None if load is None else load.context
    return [
        f"Undecided{where} ({odds} for a gain of the chain): run {run_first(rows)} first, and plan "
        "again. The answer then says whether to try a tree.",
        next_line(gammas, batch=batches[0], context=context, counted=True),
        *wide_lines([row.plan for row in some], [f" at batch {batch}" for batch in batches]),
    ]


def _advised(rows: Sequence[TreeRow]) -> list[str]:
    """Returns the advice of each batch size in words."""
    if len(rows) > 1:
        return [f"Batch {row.cost.setting.batch}: {_advice(row)}" for row in rows]
    text = _advice(rows[0])
    return [text[0].upper() + text[1:]]


def _advice(row: TreeRow) -> str:
    best, chain, wall = row.choice.best, row.choice.chain, row.cost.setting.wall
    if wall is not None and wall.crossed(row.cost.setting.batch, 1):
        return "do not speculate: even 1 token exceeds the captured graphs."
    if not row.choice.fastest.parents:
        unsure = "most probably " * row.plan.advice.undecided
        return f"do not speculate: {unsure}neither a tree nor a chain gains."
    single, times = f"chain of K = {len(chain.parents)}", "times the speed without speculation"
    if row.advised is chain:
        return (
            f"{_drafts(row, 'draft', f'a {single}')} {chain.speedup:.2f} {times}{_between(row)}: "
            f"a tree gains less than {100 * WORTH:.0f} % more."
        )
    levels = sorted(Counter(depths_and_ranks(best.parents)[0]).items())
    width = " + ".join(str(count) for _, count in levels)
    beside = f"the {single}{_between(row)}" if chain.parents else "no draft"
    tree = f"a tree of {len(best.parents)} ({width} by level)"
    return (
        f"{_drafts(row, 'try', tree)} {best.speedup:.2f} {times}, "
        f"{100 * (best.speedup / chain.speedup - 1):.0f} % over {beside}."
    )


def _drafts(row: TreeRow, order: str, what: str) -> str:
    """Returns the words before a speed-up: an order, or what may be where runs must decide."""
    return f"{what} may give" if row.plan.advice.undecided else f"{order} {what},"


def _ends(row: TreeRow) -> dict[str, float]:
    """Returns the ends of the interval of the chain's speed-up as JSON; {} without an interval."""
    point = row.plan.point(len(row.choice.chain.parents))
    ends = {"improvement_factor_low": point.low, "improvement_factor_high": point.high}
    return ends if row.plan.curve.in_doubt and point.gamma > 0 else {}


def _between(row: TreeRow) -> str:
    """Returns the chain's interval in brackets, after its speed-up if a tree is advised."""
    chain, ends = row.choice.chain, _ends(row)
    parts = [f"{chain.speedup:.2f} times"] * (row.advised is not chain)
    if ends:
        parts.append("{}: {:.2f} to {:.2f}".format(percent(), *ends.values()))
    return f" ({', '.join(parts)})" * bool(parts)


def _sure(rows: Sequence[TreeRow]) -> list[str]:
    """Returns which numbers have intervals, and that trees were not run."""
    sure = "No number here has an interval: costs and acceptance are taken as exact."
    if any(map(_ends, rows)):
        sure = "Only the chain's interval is known; a tree's speed-up has none."
    tried = "No tree was run: run it and the chain, and keep the faster."
    decided = not any(row.plan.advice.undecided for row in rows)
    return [sure] + [tried] * (decided and any(row.advised.widest > 1 for row in rows))


def run_first(rows: Sequence[TreeRow]) -> str:
    """Returns what to measure before flags are used, in words; "" if nothing.

    Where it is undecided whether drafts gain, trees wait for the runs of chains.
    """
    undecided = [row for row in rows if row.plan.advice.undecided]
    if undecided:
        chains = sorted({row.plan.advice.named for row in undecided})
        at = f" at batch {undecided[0].cost.setting.batch}" * (len(rows) > 1)
        named = [runs_named([0]), *(f"the chain of K = {gamma}" for gamma in chains)]
        return f"{', '.join(named[:-1])} and {named[-1]}{at}"
    wide = [row for row in rows if row.advised.widest > 1]
    if not wide:
        return ""
    at = " at batch {}" * (len(rows) > 1)
    trees = [f"of {len(row.advised.parents)}{at}".format(row.cost.setting.batch) for row in wide]
    lengths = sorted({len(row.choice.chain.parents) for row in wide} - {0})
    named = [*(f"the chain of K = {gamma}" for gamma in lengths), f"the tree {' and '.join(trees)}"]
    return " and ".join(filter(None, [", ".join(named[:-1]), *named[-1:]]))
