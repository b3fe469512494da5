"""`hf:NAME`, or any other name: a model of Hugging Face, by name or folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.draft_names.kind import ANY_NAME, LoadContext, ModelKind, Needs, needed_value

if TYPE_CHECKING:
    from reference.models.cached_model import CachedModel


@dataclass(frozen=True, slots=True)
class HuggingFace(ModelKind):
    """A separate draft model: a folder, or a name on Hugging Face."""

    prefix = "hf"
    names = ("hf:NAME", "a Hugging Face name or folder")
    match_priority = ANY_NAME
    rescores = True

    name: str

    @classmethod
    def parse(cls, text: str) -> HuggingFace:
        stated = text.partition(":")[0] == cls.prefix
        return cls(needed_value(text, cls) if stated else text)

    def __str__(self) -> str:
        return f"hf:{self.name}"

    @property
    def served(self) -> str:
        return self.name

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.name,)

    def require(self, needs: Needs) -> None:
        from reference.models.huggingface import load_tokenizer, require_same_tokenizer

        code = needs.settings.trust_remote_code
        require_same_tokenizer(
            needs.tokenizer,
            load_tokenizer(self.name, trust_remote_code=code),
            target_name=needs.target,
            draft_name=self.name,
        )

    def model(self, context: LoadContext) -> CachedModel:
        return pretrained(self.name, context)


def pretrained(name: str, context: LoadContext) -> CachedModel:
    """Returns a transformers model of the target's kind."""
    from reference.models.huggingface import load_model, require_same_kind

    draft = load_model(
        name,
        device=context.target.device,
        dtype=context.settings.dtype,
        trust_remote_code=context.settings.trust_remote_code,
    )
    require_same_kind(context.target, draft)
    return draft
