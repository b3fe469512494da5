"""`A tree:PARENTS`: the model A drafts a tree, given by which earlier token each one follows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.drafters.kind import JOINED_BY_WORDS, Beside, DrafterKind, ModelKind
from estimator.drafters.registry import parse_drafter

if TYPE_CHECKING:
    from estimator.drafters.kind import DrafterOf

MOST_NODES = 256
_TREE = re.compile(r"(.*\S)\s+tree:(\S*)")
_PARENTS = re.compile(r"-?\d+(,-?\d+)*")


@dataclass(frozen=True, slots=True)
class Tree(DrafterKind):
    """A model that drafts a tree.

    parents: of each token the number of an earlier one, -1 the text: -1,-1,0 are two choices of the
      next token and one of what follows the first.
    """

    forms = ("A tree:PARENTS",)
    tried = JOINED_BY_WORDS
    uncompiled = "a tree, whose passes have shapes of their own"
    unmeasured = (
        "a tree: measure its model, whose profile then says which choices stand, and plan with: "
        "specplan tree --profile FILE"
    )

    drafting: ModelKind
    parents: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Tree | None:
        named = _TREE.fullmatch(text)
        if named is None:
            return None
        from simulator.schemes.trees import nodes_of

        model, listed = named.groups()
        drafting = parse_drafter(model)
        if not isinstance(drafting, ModelKind):
            raise ValueError(f"draft A tree:PARENTS needs a model as A, got {model!r}")
        if _PARENTS.fullmatch(listed) is None:
            raise ValueError(f"draft A tree:PARENTS needs integers as PARENTS, got {listed!r}")
        parents = tuple(map(int, listed.split(",")))
        if len(parents) > MOST_NODES:
            raise ValueError(
                f"draft A tree:PARENTS takes at most {MOST_NODES} of them, got {len(parents)}"
            )
        nodes_of(parents)
        return cls(drafting, parents)

    @property
    def branches(self) -> bool:
        return True

    @property
    def parts(self) -> tuple[DrafterKind, ...]:
        return (self.drafting,)

    def load(self, beside: Beside) -> DrafterOf:
        from reference.drafters.model_drafter import ModelDrafter
        from reference.drafters.trees import TreeDrafter, without_replacement
        from reference.models.tree_mask import require_branching

        draft = beside.passes(self.drafting.model(beside))
        for model in (beside.target, draft):
            require_branching(model)
        return lambda sampling: TreeDrafter(
            ModelDrafter(draft, sampling, beside.target.vocabulary),
            self.parents,
            without_replacement,
        )
