"""Acceptance rules as `--verification` names them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.draft_names.kind import parse_drafter
from reference.sampling_ranges import require_lenience

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
    """Returns the named acceptance rule; lenience: in (0, 1]; None: 1."""
    return RULES[verification].rule(1.0 if lenience is None else lenience)


def require_rule(drafts: Iterable[str], verification: str, lenience: float | None) -> None:
    """Refuses a lenience that the rule cannot have, and drafts that the rule cannot verify.

    Drafts with several continuations of one text need the strict rule: `token`, lenience 1.
    """
    lenience = 1.0 if lenience is None else lenience
    if lenience != 1 and not RULES[verification].lenient:
        raise ValueError(f"lenience must be 1 under {verification} verification, got {lenience}")
    require_lenience(lenience)
    if verification == VERIFICATION and lenience == 1:
        return
    for draft in drafts:
        if parse_drafter(draft).branches:
            got = verification if lenience == 1 else f"lenience {lenience:g}"
            raise ValueError(
                f"draft {draft} branches and must be verified by the strict rule, got {got}"
            )
