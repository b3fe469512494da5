"""A chosen tree as a reader sees it: its levels, what it yields, and the chain beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engines.registry import exports_of
from specplan.reports.output import table

if TYPE_CHECKING:
    from simulator.schemes.tree_choice import TreeChoice, TreePlan

# Sizes shown in the table; --json has all.
_SHOWN = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
# Relative; a tree that gains less over the chain is not worth its mask.
_WORTH = 0.01
_NO_SPEEDS = dict.fromkeys(
    ("tokens_per_second", "tokens_per_second_low", "tokens_per_second_high")
)


def tree_json(
    rates: Sequence[float], choices: Mapping[int, TreeChoice], *, roofline: Mapping[int, float]
) -> dict[str, Any]:
    """Returns the choices as the JSON object of `specplan tree`, one row a batch size.

    Args:
      rates: acceptance by rank.
      choices: by batch size.
      roofline: the target's own tokens per second by batch size, where a roofline says them.
    """
    return {
        "acceptance_by_rank": list(rates),
        "rows": [
            {
                "batch": batch,
                "best": _plan_json(choice.best),
                "chain": _plan_json(choice.chain),
                "gain_percent": 100 * (choice.best.speedup / choice.chain.speedup - 1),
                **(_speeds(batch, roofline[batch], choice.best) if roofline else _NO_SPEEDS),
                "by_nodes": [_plan_json(plan) for plan in choice.by_nodes.values()],
            }
            for batch, choice in choices.items()
        ],
    }


def _speeds(batch: int, alone: float, best: TreePlan) -> dict[str, float | None]:
    """Returns tokens per second of the best tree, and of one sequence what measured ones lie in."""
    from simulator.cost.efficiency import MEASURED_HIGH, MEASURED_LOW

    speed = alone * best.speedup
    return {
        "tokens_per_second": speed,
        "tokens_per_second_low": MEASURED_LOW * speed if batch == 1 else None,
        "tokens_per_second_high": MEASURED_HIGH * speed if batch == 1 else None,
    }


def _plan_json(plan: TreePlan) -> dict[str, Any]:
    return {
        "nodes": len(plan.parents),
        "depth": plan.depth,
        "widest": plan.widest,
        "expected_tokens": plan.tokens,
        "improvement_factor": plan.speedup,
        "parents": list(plan.parents),
    }


def tree_text(
    rates: Sequence[float], choices: Mapping[int, TreeChoice], *, roofline: Mapping[int, float]
) -> str:
    """Returns the best trees as text; arguments as in tree_json."""
    shown = ", ".join(f"{rate:.3f}" for rate in rates[:8])
    more = ", ..." if len(rates) > 8 else ""
    lines = [f"acceptance by rank {shown}{more}; sum {sum(rates):.3f}", ""]
    if len(choices) == 1:
        [choice] = choices.values()
        plans = [plan for nodes, plan in choice.by_nodes.items() if nodes in _SHOWN]
        lines += [
            table(
                [
                    [
                        str(len(plan.parents)),
                        str(plan.depth),
                        f"{plan.tokens:.2f}",
                        f"{plan.speedup:.2f}",
                    ]
                    for plan in plans
                ],
                header=["nodes", "depth", "tokens per call", "speed-up"],
                marked=[place for place, plan in enumerate(plans) if plan == choice.best],
            ),
            "",
        ]
    else:
        lines += [
            table(
                [
                    [
                        str(batch),
                        str(len(choice.best.parents)),
                        str(choice.best.depth),
                        f"{choice.best.tokens:.2f}",
                        f"{choice.best.speedup:.2f}",
                        str(len(choice.chain.parents)),
                        f"{choice.chain.speedup:.2f}",
                    ]
                    for batch, choice in choices.items()
                ],
                header=[
                    "batch", "nodes", "depth", "tokens per call", "speed-up", "chain", "speed-up",
                ],
            ),
            "",
        ]  # fmt: skip
    for batch, choice in choices.items():
        prefix = "" if len(choices) == 1 else f"Batch {batch}: "
        reach = ""
        if batch in roofline:
            speed, low, high = _speeds(batch, roofline[batch], choice.best).values()
            between = "" if low is None else f" [{low:.0f}, {high:.0f}]"
            reach = f"\n{speed:.0f} tokens/s in all{between}."
        lines.append(prefix + _advice(choice) + reach)
    if roofline:
        lines.append("Costs by a roofline: trust ratios more than speed-ups (docs/roofline.md).")
    return "\n".join(lines)


def _advice(choice: TreeChoice) -> str:
    best, chain = choice.best, choice.chain
    if not best.parents:
        return "do not speculate: neither a tree nor a chain pays."
    if best.speedup <= chain.speedup * (1 + _WORTH):
        return (
            f"a tree gains less than {100 * _WORTH:.0f} % over the chain of {len(chain.parents)} "
            f"({chain.speedup:.2f})."
        )
    levels = Counter(_depths(best.parents))
    width = " + ".join(str(levels[depth]) for depth in sorted(levels))
    beside = f"the chain of {len(chain.parents)}" if chain.parents else "no draft"
    return (
        f"a tree of {len(best.parents)} ({width} by level) gives {best.speedup:.2f}, "
        f"{100 * (best.speedup / chain.speedup - 1):.0f} % over {beside}."
    )


def _depths(parents: Sequence[int]) -> list[int]:
    depths: list[int] = []
    for parent in parents:
        depths.append(1 if parent < 0 else depths[parent] + 1)
    return depths


def tree_export(best: TreePlan, program: str) -> str:
    """Returns the flags that run a tree.

    An engine grows its tree by the draft's own probabilities within these bounds, so that its shape
    varies from call to call.

    Args:
      best: the tree.
      program: an engine that drafts trees, or "specplan", for our generate and validate.

    Raises:
      ValueError: if the engine drafts none.
    """
    if not best.parents:
        return "# no tree pays: run the target without a draft"
    if program == "specplan":
        parents = ",".join(map(str, best.parents))
        return f"--draft 'MODEL tree:{parents}' --gamma {best.depth}"
    tree = exports_of(program).tree
    if tree is None:
        raise ValueError(f"an engine to export a tree for must draft trees, got {program}")
    return tree(best.depth, best.widest, len(best.parents))
