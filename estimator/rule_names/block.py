"""`block`: judges a draft as a whole and accepts more of it (Sun et al. 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.rule_names.kind import RuleKind

if TYPE_CHECKING:
    from reference.rules import Rule


class WholeBlock(RuleKind):
    """Block verification, Algorithm 2."""

    name = "block"
    judges = "as a whole (Sun et al. 2024), which accepts more"

    @staticmethod
    def rule(lenience: float) -> Rule:
        from reference.rules import BlockVerification

        return BlockVerification()
