"""`hf:NAME`, or any other name: a model of Hugging Face, by name or folder."""

from dataclasses import dataclass
from typing import Any

from estimator.draft_names.kind import ANY_NAME, DrafterKind, DraftModel, LoadContext, ModelKind
from estimator.settings import ModelSettings


@dataclass(frozen=True, slots=True)
class HuggingFace(ModelKind):
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
