"""Ours: expected tokens by tree size, for the best tree and other shapes, as in Sequoia."""

from __future__ import annotations

from dataclasses import dataclass

from figures.drawing import style
from figures.drawing.table import FigureRows
from simulator.schemes.best_trees import best_trees
from simulator.schemes.trees import chain, tree_tokens

# How often the target's token is the draft's first, second, ... choice.
RATES = (0.6, 0.14, 0.07, 0.04, 0.03, 0.02, 0.015, 0.01)
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
MAX_DEPTH = 24
SEQUENCES = 8


@dataclass(frozen=True, slots=True)
class Size:
    """Expected tokens per call of drafts of one size.

    nodes: number of drafted tokens.
    best: expected tokens of the best tree (Sequoia, section 3.1).
    sequences: expected tokens of up to SEQUENCES chains that differ in their first token.
    binary: expected tokens of a tree with two children at each node, filled level by level.
    single: expected tokens of one chain.
    """

    nodes: int
    best: float
    sequences: float
    binary: float
    single: float


def compute() -> FigureRows[Size]:
    """Returns the expected tokens of each shape and size, in ascending order."""
    trees = best_trees(RATES, max_nodes=SIZES[-1], max_depth=MAX_DEPTH)
    return FigureRows(
        tuple(
            Size(
                nodes=nodes,
                best=float(trees.tokens[MAX_DEPTH, nodes]),
                sequences=tree_tokens(_sequences(nodes), RATES),
                binary=tree_tokens([(place - 2) // 2 for place in range(nodes)], RATES),
                single=tree_tokens(chain(nodes), RATES),
            )
            for nodes in SIZES
        )
    )


def _sequences(nodes: int) -> list[int]:
    """Returns the parents of parallel chains whose lengths differ by at most one."""
    return [-1 if place < SEQUENCES else place - SEQUENCES for place in range(nodes)]


def draw(data: FigureRows[Size]) -> style.Figure:
    """Returns the drawing: a line for each shape."""
    figure, (axes,) = style.canvas(
        "The best tree goes on gaining with its size; chains, and chains side by side, do not",
        source="Ours, after Sequoia (Chen et al. 2024), section 3.1: expected tokens per call by "
        f"its recursion, acceptance by rank {', '.join(f'{rate:g}' for rate in RATES)}",
    )
    nodes = [size.nodes for size in data.rows]
    lines = [
        ("best tree", [size.best for size in data.rows]),
        ("binary tree", [size.binary for size in data.rows]),
        (f"{SEQUENCES} chains", [size.sequences for size in data.rows]),
        ("one chain", [size.single for size in data.rows]),
    ]
    labels = style.plot_lines(axes, nodes, lines)
    style.octaves_on_x(axes, [2**octave for octave in range(8)])
    axes.set_xlim(1, SIZES[-1])
    style.name_axes(axes, x="drafted tokens per call (tree size)", y="tokens per call")
    style.label_right(axes, labels)
    return figure
