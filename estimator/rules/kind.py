"""What a kind of acceptance rule says of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from reference.rules.strict import Rule


class RuleKind(ABC):
    """A way to judge drafts, in a file of its own.

    lenient: whether it takes a lenience other than 1.
    """

    word: ClassVar[str]
    judges: ClassVar[str]
    lenient: ClassVar[bool] = False

    @staticmethod
    @abstractmethod
    def rule(lenience: float) -> Rule:
        """Returns the rule.

        Args:
          lenience: 1 unless the kind is lenient.

        Raises:
          ValueError: if lenience is out of range.
        """
