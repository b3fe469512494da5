"""`token`: judges each token separately, strictly or leniently (Leviathan et al. 2023)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.rule_names.kind import RuleKind

if TYPE_CHECKING:
    from reference.rules import Rule


class TokenByToken(RuleKind):
    """Algorithm 1, or appendix A.5 for a lenience below 1."""

    name = "token"
    judges = "token by token"
    lenient = True

    @staticmethod
    def rule(lenience: float) -> Rule:
        from reference.rules import STRICT, Lenient

        return STRICT if lenience == 1 else Lenient(lenience)
