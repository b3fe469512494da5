"""`random`: any token, each as likely as the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.drafters.kind import Beside, DrafterKind, require_alone

if TYPE_CHECKING:
    from estimator.drafters.kind import DrafterOf


@dataclass(frozen=True, slots=True)
class Random(DrafterKind):
    """A uniform draw from the vocabulary."""

    word = "random"
    forms = ("random",)

    @classmethod
    def parse(cls, text: str) -> Random | None:
        if text.partition(":")[0] != cls.word:
            return None
        require_alone(text, cls)
        return cls()

    def load(self, beside: Beside) -> DrafterOf:
        from reference.drafters.random_drafter import RandomDrafter

        target = beside.target
        return lambda sampling: RandomDrafter(target.vocabulary, target.device)
