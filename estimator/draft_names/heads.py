"""`eagle3`, `eagle3:FOLDER`, `mtp`: heads on the target's hidden states."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from estimator.draft_names.kind import EMBEDDED, DrafterKind, DrafterOf, LoadContext
from estimator.settings import ModelSettings


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
        elif (Path(self.folder) / "tokenizer.json").is_file():
            from reference.models.huggingface import load_tokenizer, require_same_tokenizer

            own = load_tokenizer(self.folder)
            require_same_tokenizer(tokenizer, own, target_name=target, draft_name=str(self))

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

    def load(self, context: LoadContext) -> DrafterOf:
        from reference.drafters.state_head import StateHeadDrafter
        from reference.state_heads.mtp import load_mtp

        target = context.target
        folder = Path(str(target.module.config._name_or_path))
        if not folder.is_dir():
            raise ValueError(f"draft mtp needs the folder of its target, got {target.name}")
        head = load_mtp(folder, target.module, name=target.name)
        return lambda sampling: StateHeadDrafter(target, head, sampling, name=str(self))
