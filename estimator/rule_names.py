"""Acceptance rules as `--verification` names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference.rules import Rule


@dataclass(frozen=True, slots=True)
class RuleKind:
    """A kind of acceptance rule; CONTRIBUTING.md shows a complete example, the rule `nothing`.

    judges: how the rule verifies drafts, for help texts.
    rule: function that makes the rule from a lenience, which is 1 unless the kind is lenient.
    lenient: whether the rule can have a lenience other than 1.
    """

    judges: str
    rule: Callable[[float], Rule]
    lenient: bool = False


def _token(lenience: float) -> Rule:
    """Returns speculative sampling (Leviathan et al. 2023): Algorithm 1, or A.5 if lenience < 1."""
    from reference.rules import STRICT, Lenient

    return STRICT if lenience == 1 else Lenient(lenience)


def _block(lenience: float) -> Rule:
    """Returns block verification (Sun et al. 2024, Algorithm 2); the lenience is ignored."""
    from reference.rules import BlockVerification

    return BlockVerification()


# By name; the first rule is the default.
RULES = {
    "token": RuleKind("token by token", _token, lenient=True),
    "block": RuleKind("as a whole (Sun et al. 2024), which accepts more", _block),
}
VERIFICATION = next(iter(RULES))


def acceptance_rule(verification: str = VERIFICATION, lenience: float | None = None) -> Rule:
    """Returns the named acceptance rule; lenience: in (0, 1]; None: 1.

    Raises ValueError if the rule cannot have this lenience.
    """
    named = RULES[verification]
    lenience = 1.0 if lenience is None else lenience
    if lenience != 1 and not named.lenient:
        raise ValueError(f"lenience must be 1 under {verification} verification, got {lenience}")
    return named.rule(lenience)
