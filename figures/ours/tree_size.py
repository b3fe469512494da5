"""Ours: expected tokens by tree size, for the best tree and other shapes, as in Sequoia."""

from __future__ import annotations

from figures.drawing import style
from figures.drawing.table import Curves
from simulator.schemes.best_trees import best_trees
from simulator.schemes.trees import chain, tree_tokens

# How often the target's token is the draft's first, second, ... choice.
RATES = (0.6, 0.14, 0.07, 0.04, 0.03, 0.02, 0.015, 0.01)
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
MAX_DEPTH = 24
SEQUENCES = 8


def compute() -> Curves:
    """Returns the expected tokens per call by number of drafted tokens, a line for each shape.

    best: the best tree (Sequoia, section 3.1). sequences: up to SEQUENCES chains that differ in
    their first token. binary: two children at each node, level by level. single: one chain.
    """
    trees = best_trees(RATES, max_nodes=SIZES[-1], max_depth=MAX_DEPTH)
    shapes = {
        "sequences": _sequences,
        "binary": lambda nodes: [(place - 2) // 2 for place in range(nodes)],
        "single": chain,
    }
    best = tuple(float(trees.tokens[MAX_DEPTH, nodes]) for nodes in SIZES)
    return Curves(
        "nodes",
        SIZES,
        {"best": best}
        | {
            name: tuple(tree_tokens(parents(nodes), RATES) for nodes in SIZES)
            for name, parents in shapes.items()
        },
    )


def _sequences(nodes: int) -> list[int]:
    """Returns the parents of parallel chains whose lengths differ by at most one."""
    return [-1 if place < SEQUENCES else place - SEQUENCES for place in range(nodes)]


def draw(data: Curves) -> style.Figure:
    """Returns the drawing: a line for each shape."""
    figure, (axes,) = style.canvas(
        "The best tree goes on gaining with its size; chains, and chains side by side, do not",
        source="Ours, after Sequoia (Chen et al. 2024), section 3.1: expected tokens per call by "
        f"its recursion, acceptance by rank {', '.join(f'{rate:g}' for rate in RATES)}",
    )
    names = {
        "best tree": "best",
        "binary tree": "binary",
        f"{SEQUENCES} chains": "sequences",
        "one chain": "single",
    }
    lines = [(shown, data.lines[name]) for shown, name in names.items()]
    labels = style.plot_lines(axes, data.x, lines)
    style.octaves_on_x(axes, [2**octave for octave in range(8)])
    axes.set_xlim(1, SIZES[-1])
    style.name_axes(axes, x="drafted tokens per call (tree size)", y="tokens per call")
    style.label_right(axes, labels)
    return figure
