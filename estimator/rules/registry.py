"""All kinds of acceptance rules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from estimator.kinds import kinds_in
from estimator.rules.kind import RuleKind

if TYPE_CHECKING:
    from reference.rules.strict import Rule

# How drafts are judged unless it is said.
VERIFICATION = "token"


@cache
def rule_kinds() -> Mapping[str, type[RuleKind]]:
    """Returns all kinds by their words, the default first."""
    kinds = kinds_in(["estimator.rules"], RuleKind)  # type: ignore[type-abstract]
    return {kind.word: kind for kind in sorted(kinds, key=lambda kind: kind.word != VERIFICATION)}


def acceptance_rule(verification: str = VERIFICATION, lenience: float | None = None) -> Rule:
    """Returns the rule that settings name.

    Args:
      lenience: in (0, 1]; None: 1.

    Raises:
      ValueError: if lenience is out of range, or not 1 where the kind takes none.
    """
    kind = rule_kinds()[verification]
    lenience = 1.0 if lenience is None else lenience
    if lenience != 1 and not kind.lenient:
        raise ValueError(f"lenience must be 1 under {kind.word} verification, got {lenience}")
    return kind.rule(lenience)
