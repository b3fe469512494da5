"""`random`: drafts uniformly random tokens."""

from dataclasses import dataclass

from estimator.draft_names.kind import DrafterKind, DrafterOf, LoadContext


@dataclass(frozen=True, slots=True)
class Random(DrafterKind):
    prefix = "random"
    names = ("random",)

    def load(self, context: LoadContext) -> DrafterOf:
        from reference.drafters.random_drafter import RandomDrafter

        target = context.target
        return lambda sampling: RandomDrafter(target.vocabulary, target.device)
