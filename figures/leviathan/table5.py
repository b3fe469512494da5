"""Leviathan et al. 2023, Table 5 and §A.5: α under lenience and the improvement that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.drawing.table import Table, table_of
from simulator.choice.optimum import optimal_gamma
from simulator.choice.walltime import improvement_factor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LENIENCES = (1.0, 0.5, 0.3, 0.1)
C = 0.015
# α by lenience as printed: Table 5, and for argmax sampling the text of §A.5.
SAMPLING = {
    "unigram": (0.07, 0.10, 0.11, 0.16),
    "bigram": (0.19, 0.23, 0.25, 0.32),
    "T5-small": (0.62, 0.71, 0.76, 0.84),
    "T5-base": (0.68, 0.80, 0.83, 0.90),
}
ARGMAX = {"T5-small": (0.75, 0.75, 0.80, 0.87)}
# Improvement of T5-small as printed in §A.5; the γ of the first is not stated.
SAMPLING_IMPROVEMENT = (2.5, 3.1, 3.6, 5.0)
ARGMAX_IMPROVEMENT = (3.3, 3.3, 3.9, 4.9)
ARGMAX_GAMMA = 8
MAX_GAMMA = 64


@dataclass(frozen=True, slots=True)
class Row:
    """One draft at one lenience; improvement is Theorem 8 at the printed α and c = 0.015.

    published_improvement: None where the paper gives none.
    """

    sampling: str
    draft: str
    lenience: float
    alpha: float
    gamma: int
    improvement: float
    published_improvement: float | None


@dataclass(frozen=True, slots=True)
class Table5:
    """All rows."""

    rows: tuple[Row, ...]

    def table(self) -> Table:
        return table_of(self.rows)


def compute() -> Table5:
    """Returns sampling at the best γ for each α, and argmax at the paper's γ = 8."""
    rows = []
    for draft, alphas in SAMPLING.items():
        for i, (lenience, alpha) in enumerate(zip(LENIENCES, alphas, strict=True)):
            rows.append(
                Row(
                    sampling="standard",
                    draft=draft,
                    lenience=lenience,
                    alpha=alpha,
                    gamma=(gamma := int(optimal_gamma(alpha, C, max_gamma=MAX_GAMMA))),
                    improvement=float(improvement_factor(alpha, gamma, C)),
                    published_improvement=SAMPLING_IMPROVEMENT[i] if draft == "T5-small" else None,
                )
            )
    for draft, alphas in ARGMAX.items():
        for i, (lenience, alpha) in enumerate(zip(LENIENCES, alphas, strict=True)):
            rows.append(
                Row(
                    sampling="argmax",
                    draft=draft,
                    lenience=lenience,
                    alpha=alpha,
                    gamma=ARGMAX_GAMMA,
                    improvement=float(improvement_factor(alpha, ARGMAX_GAMMA, C)),
                    published_improvement=ARGMAX_IMPROVEMENT[i],
                )
            )
    return Table5(tuple(rows))


def draw(data: Table5) -> Figure:
    """Returns the drawing: α on the left, the improvement of T5-small on the right."""
    from figures.drawing import style

    figure, (left, right) = style.canvas(
        "Lenience buys acceptance; the paper's factors for standard sampling exceed Theorem 8",
        source=f"Leviathan et al. 2023, Table 5 and §A.5: α as printed, target T5-XXL EnDe, "
        f"c = {C:g}; standard sampling at the best γ, argmax at γ = {ARGMAX_GAMMA}",
        columns=2,
        width=10.0,
    )
    places = range(len(LENIENCES))
    labels = style.plot_lines(
        left,
        list(places),
        [
            (draft, [row.alpha for row in data.rows if _line(row) == ("standard", draft)])
            for draft in SAMPLING
        ],
    )
    left.set_ylim(0, 1)
    style.name_axes(left, x="lenience $\\ell$", y="acceptance rate α", panel="α, standard sampling")
    for sampling, colour in (("standard", style.GREEN), ("argmax", style.PURPLE)):
        rows = [row for row in data.rows if _line(row) == (sampling, "T5-small")]
        right.plot(
            places,
            [row.improvement for row in rows],
            "o-",
            color=colour,
            linewidth=2,
            label=f"{sampling}: Theorem 8",
        )
        right.plot(
            places,
            [row.published_improvement for row in rows if row.published_improvement is not None],
            "D",
            color=colour,
            markerfacecolor="white",
            markersize=8,
            mew=2,
            label=f"{sampling}: paper",
        )
    right.set_ylim(1, 5.5)
    style.name_axes(
        right, x="lenience $\\ell$", y="speed-up over standard decoding", panel="speed-up, T5-small"
    )
    for axes in (left, right):
        axes.set_xticks(places, [f"{lenience:g}" for lenience in LENIENCES])
        axes.set_xlim(-0.15, len(LENIENCES) - 0.85)
    style.label_right(left, labels)
    style.key(right, anchor=(0.02, 0.72))
    return figure


def _line(row: Row) -> tuple[str, str]:
    """Returns which line of the drawing a row belongs to."""
    return row.sampling, row.draft
