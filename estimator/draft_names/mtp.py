"""`mtp`: the target's own layer of multi-token prediction, as in DeepSeek-V3."""

from dataclasses import dataclass
from pathlib import Path

from estimator.draft_names.kind import DrafterKind, DrafterOf, LoadContext


@dataclass(frozen=True, slots=True)
class MtpName(DrafterKind):
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
        return lambda sampling: StateHeadDrafter(target, head, sampling, name=self.prefix)
