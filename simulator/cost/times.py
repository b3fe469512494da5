"""Costs as times of steps in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from simulator.cost.curves import CostModel


class Times(CostModel):
    """The cost of blocks from times of draft steps and target passes.

    target_ms: time of a target step in milliseconds, above 0.
    draft_ms: time of a draft step.
    verify_ms: times of target passes by number of tokens, at least 2; None: always target_ms.
    overhead_ms: time of a block that is neither drafting nor verification.
    force: whether a pass may be faster than a pass over fewer tokens.

    Example:
      >>> float(Times(19, 1.6, verify_ms={4: 33}).block_seconds(3))
      0.0378
    """

    def __init__(
        self,
        target_ms: float,
        draft_ms: float,
        *,
        verify_ms: Mapping[int, float] | None = None,
        overhead_ms: float = 0.0,
        force: bool = False,
    ) -> None:
        points = dict(sorted((verify_ms or {}).items()))
        if not target_ms > 0:
            raise ValueError(f"`target_ms` must be above 0, got {target_ms:g}")
        for tokens, ms in points.items():
            if tokens < 2:
                raise ValueError(f"`verify_ms` must be of at least 2 tokens, got {tokens}={ms:g}")
            if ms < target_ms and not force:
                raise ValueError(
                    f"`verify_ms` must not be below `target_ms` {target_ms:g}, the time of one "
                    f"token, got {tokens}={ms:g}: are both times of one machine? `force` takes "
                    "them all the same"
                )
        for (fewer, less), (tokens, ms) in pairwise(points.items()):
            if ms < less and not force:
                raise ValueError(
                    "`verify_ms` must not fall with the number of tokens, got "
                    f"{fewer}={less:g} and {tokens}={ms:g}: `force` takes them all the same"
                )
        CostModel.__init__(
            self,
            target_seconds={n: ms / 1000 for n, ms in {1: target_ms, **points}.items()},
            draft_seconds=draft_ms / 1000,
            overhead_seconds=overhead_ms / 1000,
        )
