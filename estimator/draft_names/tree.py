"""`A tree:PARENTS`: A drafts a tree; PARENTS gives the parent of each token."""

import re
from dataclasses import dataclass
from typing import Any, Self

from estimator.draft_names.kind import (
    JOINED_BY_WORDS,
    DrafterKind,
    DrafterOf,
    LoadContext,
    parse_drafter,
)

MOST_NODES = 256
_TREE = re.compile(r"(.*\S)\s+tree:(\S*)")
_PARENTS = re.compile(r"-?\d+(,-?\d+)*")


@dataclass(frozen=True, slots=True)
class Tree(DrafterKind):
    """A model, or a head on the target's states, that drafts a tree.

    parents: for each drafted token the index of the token that it follows; -1: it follows the text.
      For example, -1,-1,0 drafts two choices of the next token, and one token after the first.
    """

    names = ("A tree:PARENTS",)
    match_priority = JOINED_BY_WORDS
    uncompiled = "a tree, whose passes have shapes of their own"
    unmeasured = (
        "a tree: measure its model, whose profile says which choices are accepted; then: "
        "specplan tree --profile FILE"
    )

    drafting: DrafterKind
    parents: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Self | None:
        named = _TREE.fullmatch(text)
        if named is None:
            return None
        from simulator.schemes.trees import depths_and_ranks

        model, listed = named.groups()
        drafting = parse_drafter(model)
        if not drafting.supports_trees:
            raise ValueError(
                "draft A tree:PARENTS needs a model, or a head that drafts token after token, as "
                f"A, got {model!r}"
            )
        if _PARENTS.fullmatch(listed) is None:
            raise ValueError(f"draft A tree:PARENTS needs integers as PARENTS, got {listed!r}")
        parents = tuple(map(int, listed.split(",")))
        if len(parents) > MOST_NODES:
            raise ValueError(
                f"draft A tree:PARENTS takes at most {MOST_NODES} of them, got {len(parents)}"
            )
        depths_and_ranks(parents)
        return cls(drafting, parents)

    @property
    def branches(self) -> bool:
        return True

    def load(self, context: LoadContext) -> DrafterOf:
        from reference.drafters.trees import TreeDrafter, without_replacement
        from reference.laws import Sampling
        from reference.models.text_tree import require_branching

        # A kind with `supports_trees` makes a drafter of this type.
        made: Any = self.drafting.load(context)
        require_branching(context.target)
        made(Sampling()).require_trees()
        return lambda sampling: TreeDrafter(made(sampling), self.parents, without_replacement)
