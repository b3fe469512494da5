"""`embedded`, `hf:NAME` or any other name, `exit:L`: models that draft."""

from dataclasses import dataclass
from typing import Any, Self

from estimator.draft_names.kind import (
    ANY_NAME,
    EMBEDDED,
    DrafterKind,
    DraftModel,
    LoadContext,
    ModelKind,
    positive,
)
from estimator.settings import ModelSettings


@dataclass(frozen=True, slots=True)
class Embedded(ModelKind):
    """The draft model that comes with the embedded target."""

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


@dataclass(frozen=True, slots=True)
class HuggingFace(ModelKind):
    """A model of Hugging Face. name: its name, or its folder."""

    prefix = "hf"
    names = ("hf:NAME", "a Hugging Face name or folder")
    match_priority = ANY_NAME
    rescores = True

    name: str

    @classmethod
    def parse(cls, text: str) -> DrafterKind:
        return super(HuggingFace, cls).parse(text) or cls(text)

    @property
    def served(self) -> str:
        return self.name

    def require(self, target: str, *, tokenizer: Any, settings: ModelSettings) -> None:
        from reference.models.huggingface import load_tokenizer, require_same_tokenizer

        own = load_tokenizer(self.name, trust_remote_code=settings.trust_remote_code)
        require_same_tokenizer(tokenizer, own, target_name=target, draft_name=self.name)

    def model(self, context: LoadContext) -> DraftModel:
        return context.pretrained(self.name)


@dataclass(frozen=True, slots=True)
class EarlyExit(ModelKind):
    """An early exit from the target. layers: number of the target's first layers that draft."""

    prefix = "exit"
    names = ("exit:L",)
    of_target = True

    layers: int

    @classmethod
    def of_value(cls, value: str, text: str) -> Self:
        return cls(positive(value, "exit:N", text))

    def model(self, context: LoadContext) -> DraftModel:
        from reference.models.architectures import early_exit

        return early_exit(context.target, self.layers)
