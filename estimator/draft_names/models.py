"""`embedded`, `hf:NAME` or any name, `exit:L`, `eagle3`, `mtp`: models and heads that draft."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from estimator.draft_names.kind import (
    ANY_NAME,
    DrafterKind,
    DrafterOf,
    DraftModel,
    LoadContext,
    ModelKind,
    positive,
)
from estimator.settings import ModelSettings
from reference.models import folders
from reference.models.embedded import EMBEDDED, target_source
from reference.models.matching import (
    decoder_layers,
    require_alike,
    require_exit,
    require_prediction_layer,
)


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
    """A draft model in the format of transformers. name: its name on the hub, or its folder."""

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
        if tokenizer is None:
            folders.require_folder(self.name)
            if target != EMBEDDED and not settings.trust_remote_code:
                require_alike(target, self.name)
            return
        from reference.models.huggingface import load_tokenizer, require_same_tokenizer

        of_draft = load_tokenizer(self.name, trust_remote_code=settings.trust_remote_code)
        require_same_tokenizer(tokenizer, of_draft, target_name=target, draft_name=self.name)

    def model(self, context: LoadContext) -> DraftModel:
        return context.pretrained(self.name)


@dataclass(frozen=True, slots=True)
class EarlyExit(ModelKind):
    """A draft model that is the first `layers` layers of the target (early exit)."""

    prefix = "exit"
    names = ("exit:L",)
    of_target = True

    layers: int

    @classmethod
    def of_value(cls, value: str, text: str) -> Self:
        return cls(positive(value, "exit:N", text))

    def require(self, target: str, *, tokenizer: Any, settings: ModelSettings) -> None:
        layers = decoder_layers(target_source(target))
        if layers is not None:
            require_exit(self.layers, layers, target)

    def model(self, context: LoadContext) -> DraftModel:
        from reference.models.architectures import early_exit

        return early_exit(context.target, self.layers)


@dataclass(frozen=True, slots=True)
class Eagle3Name(DrafterKind):
    """An EAGLE-3 head. folder: its folder; None: the head of the embedded target."""

    prefix = "eagle3"
    names = ("eagle3", "eagle3:FOLDER")
    own_states = True
    supports_trees = True
    uncompiled = "draft eagle3, which reads the states that passes leave"
    unspread = "draft eagle3, which reads states of several of the target's layers"

    folder: str | None = None

    @property
    def own_files(self) -> tuple[Path, ...]:
        from reference.models.embedded import weights_folder

        return (weights_folder("eagle3") if self.folder is None else Path(self.folder),)

    def require(self, target: str, *, tokenizer: Any, settings: ModelSettings) -> None:
        if self.folder is None:
            if target != EMBEDDED:
                raise ValueError(
                    f"draft eagle3 needs the embedded target, got {target}; give its own "
                    "head's folder, or train one with: specplan heads train --kind eagle3"
                )
        elif tokenizer is None:
            folders.require_file(
                self.folder, folders.CONFIGURATION, "eagle3 must be a folder with a head"
            )
            if target != EMBEDDED and not settings.trust_remote_code:
                require_alike(target, self.folder)
        elif (Path(self.folder) / "tokenizer.json").is_file():
            from reference.models.huggingface import load_tokenizer, require_same_tokenizer

            of_draft = load_tokenizer(self.folder)
            require_same_tokenizer(tokenizer, of_draft, target_name=target, draft_name=str(self))

    def load(self, context: LoadContext) -> DrafterOf:
        from reference.drafters.state_head import StateHeadDrafter
        from reference.state_heads.eagle3_folder import load_eagle3

        target = context.target
        [folder] = self.own_files
        head = load_eagle3(folder, target.module, name=target.name)
        return lambda sampling: StateHeadDrafter(target, head, sampling, name=str(self))


@dataclass(frozen=True, slots=True)
class MtpName(DrafterKind):
    """The target's own layer of multi-token prediction, as in DeepSeek-V3."""

    prefix = "mtp"
    names = ("mtp",)
    own_states = True
    supports_trees = True
    uncompiled = "draft mtp, which reads the states that passes leave"
    unspread = "draft mtp, which reads what the target's last layer leaves"

    def require(self, target: str, *, tokenizer: Any, settings: ModelSettings) -> None:
        folder = Path(target_source(target))
        if not folder.is_dir():
            raise ValueError(f"draft mtp needs the folder of its target, got {target}")
        layers = decoder_layers(str(folder))
        if layers is not None:
            require_prediction_layer(folder, layers, target)

    def load(self, context: LoadContext) -> DrafterOf:
        from reference.drafters.state_head import StateHeadDrafter
        from reference.state_heads.head import load_mtp

        target = context.target
        head = load_mtp(Path(target_source(target.name)), target.module, name=target.name)
        return lambda sampling: StateHeadDrafter(target, head, sampling, name=str(self))
