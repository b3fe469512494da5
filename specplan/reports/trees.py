"""Chosen draft trees as text and JSON: levels, gain, and the best chain for comparison."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from engines.kind import exports_of, methods_of
from simulator.choice.advice import Advice
from simulator.choice.odds import percentage
from simulator.cost.cost import Cost
from simulator.cost.fitted.contradictions import contradictions
from simulator.schemes.tree_choice import TreeChoice, TreePlan
from simulator.schemes.trees import depths_and_ranks
from specplan.reports.basis import rests_on
from specplan.reports.deployment import cost_json, cost_notes, graphs_line, published_speeds
from specplan.reports.draft_labels import DraftLabels, require_loaded, served
from specplan.reports.first_runs import cautious
from specplan.reports.table import MS, TOKENS, blocks_take_a_step, bounds, folded, possible, table

# Name of our own commands among the engines that draft trees.
OURS = "specplan"
# Sizes shown in the table; --json has all.
_SHOWN = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
# A tree whose relative gain over the chain is smaller is not worth its attention mask.
WORTH = 0.01

# Which trees are compared.
SHAPES = "Trees are those that yield most tokens at their size and depth."


class TreeRow(NamedTuple):
    """The trees chosen at one batch size, the cost of their steps, and the advice on chains."""

    choice: TreeChoice
    cost: Cost
    advice: Advice

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
        "sentence": " ".join([*_undecided(rows), *_advised(rows)]),
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
        "chain": plan_json(choice.chain),
        "gain_percent": 100 * (choice.best.speedup / choice.chain.speedup - 1),
        "tokens_per_second": speed,
        "tokens_per_second_low": low,
        "tokens_per_second_high": high,
        "by_nodes": [plan_json(plan) for plan in choice.by_nodes.values()],
        "test_gamma": row.advice.test_gamma,
        "gain_probability": row.advice.gain_probability,
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
    lines += _notes(rows)
    trees = _sizes(data["rows"][0]) if len(rows) == 1 else _batches(data["rows"])
    return "\n".join([opening, "", trees, *map(folded, lines)])


def _sizes(choice: Mapping[str, Any]) -> str:
    """Returns a table of the fastest tree of each size; choice: one row of `tree_json`."""
    columns = [("nodes", "{nodes}"), ("depth", "{depth}"),
               ("tokens per call", "{expected_tokens:.2f}"),
               ("speed-up", "{improvement_factor:.2f}")]  # fmt: skip
    rows = [plan for plan in choice["by_nodes"] if plan["nodes"] in _SHOWN]
    best, mark = choice["best"], "beyond_graphs"
    return table(rows, columns, best=lambda plan: plan == best, note=lambda plan: "!" * plan[mark])


def _batches(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns a table of the best tree at each batch size."""
    columns: list[tuple[str, Any]] = [
        ("batch", "{batch}"), ("nodes", "{best[nodes]}"), ("depth", "{best[depth]}"),
        ("tokens per call", "{best[expected_tokens]:.2f}"),
        ("speed-up", "{best[improvement_factor]:.2f}"),
        ("chain K", "{chain[nodes]}"), ("speed-up", "{chain[improvement_factor]:.2f}"),
    ]  # fmt: skip
    if all(cells["tokens_per_second"] is not None for cells in rows):
        columns += [
            (MS, lambda cells: f"{1e3 * cells['batch'] / cells['tokens_per_second']:.2f}"),
            (TOKENS, "{tokens_per_second:.1f}"),
        ]
    return table(rows, columns)


def _undecided(rows: Sequence[TreeRow]) -> list[str]:
    """Returns a sentence if runs must show whether drafts gain at all; [] if that is decided."""
    some = {row.cost.setting.batch: row.advice for row in rows if row.advice.undecided}
    if not some:
        return []
    odds = percentage(*(advice.gain_probability or 0.0 for advice in some.values()))
    where = f" at batch {', '.join(map(str, some))}" if len(some) < len(rows) else ""
    gammas = sorted({0, *(advice.named for advice in some.values())})
    first = " and ".join(f"K = {gamma}" for gamma in gammas)
    return [f"Undecided{where} ({odds} for a gain of the chain): measure {first} first."]


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
        unsure = "most probably " * row.advice.undecided
        return f"do not speculate: {unsure}neither a tree nor a chain gains."
    times, length = "times the speed without speculation", len(chain.parents)
    if row.advised is chain:
        return (
            f"{_drafts(row, f'a chain of K = {length}')} {chain.speedup:.2f} {times}: a tree gains "
            f"less than {100 * WORTH:.0f} % more."
        )
    levels = sorted(Counter(depths_and_ranks(best.parents)[0]).items())
    width = " + ".join(str(count) for _, count in levels)
    beside = f"the chain of {length}" if chain.parents else "no draft"
    tree = f"a tree of {len(best.parents)} ({width} by level)"
    return (
        f"{_drafts(row, tree)} {best.speedup:.2f} {times}, "
        f"{100 * (best.speedup / chain.speedup - 1):.0f} % over {beside}."
    )


def _drafts(row: TreeRow, what: str) -> str:
    """Returns the words before a speed-up: an order, or what may be where runs must decide."""
    return f"{what} may give" if row.advice.undecided else f"draft {what},"


def tree_exports(rows: Sequence[TreeRow], program: str, drafter: DraftLabels) -> str:
    """Returns the flags of each batch size, as comments where a draft must be measured first."""
    texts = {row.cost.setting.batch: tree_export(row, program, drafter) for row in rows}
    flags = "\n".join(f"# at batch {batch}:\n" * (len(texts) > 1) + text
                      for batch, text in texts.items())  # fmt: skip
    undecided = {row.cost.setting.batch: [row.advice.named, 0] * row.advice.undecided
                 for row in rows}  # fmt: skip
    return cautious(flags, undecided)


def tree_export(row: TreeRow, program: str, drafter: DraftLabels) -> str:
    """Returns the flags that make a program draft a tree; a comment if no tree pays.

    program: an engine, or "specplan" for `specplan generate` and `validate`, which draft exactly
      this tree. An engine's flags only bound the depth, width and size of its trees, whose shape
      follows the draft's probabilities.
    """
    best = row.advised
    if not best.parents:
        return "# no tree pays: run the target without a draft"
    if program == OURS:
        named = drafter.model or drafter.name or "MODEL"
        if best.widest == 1:
            return f"--draft {named} --gamma {best.depth} --draft-temperature 0"
        parents = ",".join(map(str, best.parents))
        return f"--draft '{named} tree:{parents}' --gamma {best.depth} --draft-temperature 0"
    tree, draft = exports_of(program).tree, drafter.drafted(row.cost.setting.load)
    if tree is None:
        raise ValueError(f"an engine to export a tree for must draft trees, got {program}")
    if drafter.name is not None:
        draft = served(draft, drafter.name)
    require_loaded(program, draft, methods_of(program))
    return tree(best.depth, best.widest, len(best.parents), draft)
