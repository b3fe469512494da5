"""`exit:L`: an early exit from the target after its first L layers."""

from dataclasses import dataclass
from typing import Self

from estimator.draft_names.kind import DraftModel, LoadContext, ModelKind, positive


@dataclass(frozen=True, slots=True)
class EarlyExit(ModelKind):
    prefix = "exit"
    names = ("exit:L",)
    of_target = True

    layers: int

    @classmethod
    def of_value(cls, value: str, text: str) -> Self:
        return cls(positive(value, "exit:N", text))

    def model(self, context: LoadContext) -> DraftModel:
        from reference.models.derived import early_exit

        return early_exit(context.target, self.layers)
