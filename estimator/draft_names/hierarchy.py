"""`A via B`: the model A drafts, sped up by B (Leviathan et al. 2023, section 6)."""

import re
from dataclasses import dataclass
from typing import Self

from estimator.draft_names.kind import (
    JOINED_BY_WORDS,
    DrafterKind,
    DrafterOf,
    LoadContext,
    ModelKind,
    parse_drafter,
    positive,
    walk,
)

# Default number of tokens in inner blocks.
GAMMA = 4
_VIA = re.compile(r"\s+via(?::(\S*))?\s+")


@dataclass(frozen=True, slots=True)
class Hierarchy(DrafterKind):
    """A draft model whose own tokens another drafter drafts, named `A via B` or `A via B via C`.

    gamma: number of tokens that the inner drafter B drafts per block, N in `A via:N B`.
    """

    names = ("A via B (the model A, sped up by B)",)
    match_priority = JOINED_BY_WORDS

    outer: ModelKind
    inner: DrafterKind
    gamma: int = GAMMA

    @classmethod
    def parse(cls, text: str) -> Self | None:
        stage = _VIA.search(text)
        if stage is None:
            return None
        before = text[: stage.start()]
        outer, inner = parse_drafter(before), parse_drafter(text[stage.end() :])
        if not isinstance(outer, ModelKind):
            raise ValueError(f"draft A via B needs a model as A, got {before!r}")
        for part in walk(inner):
            if part.own_states:
                raise ValueError(
                    f"draft A via B takes no {part.prefix} as B, the target's own, got {text!r}"
                )
        gamma = stage.group(1)
        return cls(outer, inner, GAMMA if gamma is None else positive(gamma, "via:N", text))

    def load(self, context: LoadContext) -> DrafterOf:
        from reference.drafters.model_drafter import HierarchicalDrafter

        outer, inner = self.outer.load(context), self.inner.load(context)
        return lambda sampling: HierarchicalDrafter(outer(sampling), inner(sampling), self.gamma)
