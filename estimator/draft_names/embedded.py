"""`embedded`: the draft model that comes with the embedded target."""

from dataclasses import dataclass
from typing import Any

from estimator.draft_names.kind import EMBEDDED, DraftModel, LoadContext, ModelKind
from estimator.settings import ModelSettings


@dataclass(frozen=True, slots=True)
class Embedded(ModelKind):
    prefix = EMBEDDED
    names = (EMBEDDED,)
    rescores = True

    @property
    def served(self) -> str:
        from reference.models.embedded import weights_folder

        return str(weights_folder("draft"))

    def require(self, target: str, *, tokenizer: Any, settings: ModelSettings) -> None:
        if target != EMBEDDED:
            raise ValueError(f"draft embedded needs the embedded target, got {target}")

    def model(self, context: LoadContext) -> DraftModel:
        draft = context.pretrained(self.served)
        draft.name = EMBEDDED
        return draft
