"""Published trees, and what SGLang's attention over one costs beyond that over a chain.

With several branches its FlashAttention backend reads cached tokens by one kernel and the tree's
tokens by a second one, and merges both (its flashattention_backend.py, `use_cascade_attn`). No
table has that; the second kernel is priced as decoding of every token over the tree's tokens.
"""

from __future__ import annotations

from collections.abc import Mapping

from simulator.cost.fitted.kernels import KernelMachine
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.matrices import PLAIN_CACHES

# γ of published trees, the tokens that a pass of their draft reads, and the tokens to verify.
Trees = tuple[tuple[int, int, int], ...]
TREES: Trees = ((5, 3, 6), (7, 4, 8))
# Seconds of a layer's small kernels: two that turn the sums of exponents, one that merges, one that
# schedules the second attention, each about 2 µs in a captured graph.
MERGING_SECONDS = 8e-6


def trees_of(facts: Mapping[str, str]) -> Trees:
    """Returns the trees of a row of the table; none where it drafts chains."""
    if facts["verified"]:
        return ((int(facts["gamma"]), int(facts["width"]), int(facts["verified"])),)
    return TREES if facts["kind"].startswith("EAGLE") and facts["kind"].endswith("tree") else ()


def branching_seconds(
    machine: KernelMachine, load: LoadPoint, new_tokens: int, width: int
) -> float:
    """Returns the seconds that a verified tree's branches add to the target's attention.

    Latent caches, whose attention has no tables, add none, and neither does a chain.

    width: most tokens that a pass of the draft reads; 1 in a chain.
    """
    target, given = machine.deployment.target, machine.deployment.conditions
    if width == 1 or any(group.kind not in PLAIN_CACHES for group in target.caches):
        return 0.0
    rows = given.replica_batch(load.batch) * new_tokens
    return machine.reading(new_tokens, rows, 1) + target.layers * MERGING_SECONDS
