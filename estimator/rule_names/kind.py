"""Kinds of acceptance rules: the facts about one kind, and the list of all kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from estimator.kinds import kinds_in

if TYPE_CHECKING:
    from reference.rules import Rule


class RuleKind(ABC):
    """A kind of acceptance rule; CONTRIBUTING.md shows a complete example, `AcceptNothing`.

    name: value of `--verification` that selects the rule.
    judges: how the rule verifies drafts, for help texts.
    lenient: whether the rule can have a lenience other than 1.
    """

    name: ClassVar[str]
    judges: ClassVar[str]
    lenient: ClassVar[bool] = False

    @staticmethod
    @abstractmethod
    def rule(lenience: float) -> Rule:
        """Returns the rule; lenience is 1 unless the kind is lenient."""


# The default rule.
VERIFICATION = "token"


@cache
def rule_kinds() -> Mapping[str, type[RuleKind]]:
    """Returns all kinds of acceptance rule by name, the default kind first."""
    kinds = kinds_in(["estimator.rule_names"], RuleKind)  # type: ignore[type-abstract]
    return {kind.name: kind for kind in sorted(kinds, key=lambda kind: kind.name != VERIFICATION)}


def acceptance_rule(verification: str = VERIFICATION, lenience: float | None = None) -> Rule:
    """Returns the named acceptance rule; lenience: in (0, 1]; None means 1."""
    kind = rule_kinds()[verification]
    lenience = 1.0 if lenience is None else lenience
    if lenience != 1 and not kind.lenient:
        raise ValueError(f"lenience must be 1 under {kind.name} verification, got {lenience}")
    return kind.rule(lenience)
