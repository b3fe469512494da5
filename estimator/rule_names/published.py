"""`token` and `block`: the rules that verify token by token, and a draft as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.rule_names.kind import RuleKind

if TYPE_CHECKING:
    from reference.rules import Rule


class TokenByToken(RuleKind):
    """Algorithm 1 (Leviathan et al. 2023), or appendix A.5 for a lenience below 1."""

    name = "token"
    judges = "token by token"
    lenient = True

    @staticmethod
    def rule(lenience: float) -> Rule:
        from reference.rules import STRICT, Lenient

        return STRICT if lenience == 1 else Lenient(lenience)


class WholeBlock(RuleKind):
    """Block verification, Algorithm 2 (Sun et al. 2024)."""

    name = "block"
    judges = "as a whole (Sun et al. 2024), which accepts more"

    @staticmethod
    def rule(lenience: float) -> Rule:
        from reference.rules import BlockVerification

        return BlockVerification()
