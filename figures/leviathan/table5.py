"""Leviathan et al. 2023, Table 5 and §A.5: α and improvement under lenience."""

from __future__ import annotations

from dataclasses import dataclass

from figures.drawing import style
from figures.drawing.table import FigureRows
from figures.published import LeviathanTable5, published
from simulator.choice.walltime import improvement_factor, optimal_gamma

C = 0.015
ARGMAX_GAMMA = 8
MAX_GAMMA = 64


@dataclass(frozen=True, slots=True)
class LenienceRow:
    """One draft at one lenience; improvement: Theorem 8 at the printed α and c = 0.015.

    published_improvement: None if the paper gives none.
    """

    sampling: str
    draft: str
    lenience: float
    alpha: float
    gamma: int
    improvement: float
    published_improvement: float | None


def compute() -> FigureRows[LenienceRow]:
    """Returns sampling at the best γ for each α, and argmax at the paper's γ = 8."""
    rows = []
    for row in published("leviathan-table5", LeviathanTable5):
        gamma = ARGMAX_GAMMA
        if row.sampling == "standard":
            gamma = int(optimal_gamma(row.alpha, C, max_gamma=MAX_GAMMA))
        improvement = float(improvement_factor(row.alpha, gamma, C))
        kept = (row.sampling, row.draft, row.lenience, row.alpha)
        rows.append(LenienceRow(*kept, gamma, improvement, row.improvement))
    return FigureRows(tuple(rows))


def draw(data: FigureRows[LenienceRow]) -> style.Figure:
    """Returns the drawing: α on the left, the improvement of T5-small on the right."""
    figure, (left, right) = style.canvas(
        "Lenience buys acceptance; the paper's factors for standard sampling exceed Theorem 8",
        source=f"Leviathan et al. 2023, Table 5 and §A.5: α as printed, target T5-XXL EnDe, "
        f"c = {C:g}; standard sampling at the best γ, argmax at γ = {ARGMAX_GAMMA}",
        columns=2,
        width=10.0,
    )
    leniences = list(dict.fromkeys(row.lenience for row in data.rows))
    drafts = dict.fromkeys(row.draft for row in data.rows)
    places = range(len(leniences))
    lines = [
        (draft, [row.alpha for row in data.rows if _line(row) == ("standard", draft)])
        for draft in drafts
    ]
    labels = style.plot_lines(left, list(places), lines)
    left.set_ylim(0, 1)
    style.name_axes(left, x="lenience $\\ell$", y="acceptance rate α", panel="α, standard sampling")
    for sampling, colour in (("standard", style.GREEN), ("argmax", style.PURPLE)):
        rows = [row for row in data.rows if _line(row) == (sampling, "T5-small")]
        ours = [row.improvement for row in rows]
        right.plot(places, ours, "o-", color=colour, linewidth=2, label=f"{sampling}: Theorem 8")
        paper = [each for row in rows if (each := row.published_improvement) is not None]
        right.plot(
            places, paper, "D", color=colour, markerfacecolor="white", markersize=8, mew=2,
            label=f"{sampling}: paper",
        )  # fmt: skip
    right.set_ylim(1, 5.5)
    style.name_axes(
        right, x="lenience $\\ell$", y="speed-up over standard decoding", panel="speed-up, T5-small"
    )
    for axes in (left, right):
        axes.set_xticks(places, [f"{lenience:g}" for lenience in leniences])
        axes.set_xlim(-0.15, len(leniences) - 0.85)
    style.label_right(left, labels)
    style.key(right, anchor=(0.02, 0.72))
    return figure


def _line(row: LenienceRow) -> tuple[str, str]:
    """Returns the name of the line in the drawing that a row belongs to."""
    return row.sampling, row.draft
