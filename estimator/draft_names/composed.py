"""`A via B` and `A tree:PARENTS`: drafters made of other drafters."""

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

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

# Default number of tokens in the inner blocks of A via B.
INNER_GAMMA = 4
MOST_NODES = 256
_VIA = re.compile(r"\s+via(?::(\S*))?\s+")
_TREE = re.compile(r"(.*\S)\s+tree:(\S*)")
_PARENTS = re.compile(r"-?\d+(,-?\d+)*")


@dataclass(frozen=True, slots=True)
class Hierarchy(DrafterKind):
    """A draft model that is sped up by a second drafter (Leviathan et al. 2023, section 6).

    outer, inner, gamma: A, B and N in `A via:N B`. B drafts N tokens per block; A verifies them.
    """

    names = ("A via B (the model A, sped up by B)",)
    match_priority = JOINED_BY_WORDS

    outer: ModelKind
    inner: DrafterKind
    gamma: int = INNER_GAMMA

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
        return cls(outer, inner, INNER_GAMMA if gamma is None else positive(gamma, "via:N", text))

    def load(self, context: LoadContext) -> DrafterOf:
        from reference.drafters.model_drafter import HierarchicalDrafter

        # The model verifies blocks, and reads one or two tokens where there is no draft.
        widths = (1, 2, self.gamma + 1)
        passes = partial(context.passes, widths=widths)
        outer = self.outer.load(replace(context, passes=passes))
        inner = self.inner.load(context)
        return lambda sampling: HierarchicalDrafter(outer(sampling), inner(sampling), self.gamma)


@dataclass(frozen=True, slots=True)
class Tree(DrafterKind):
    """A model, or a head on the target's states (`drafting`), that drafts a tree of tokens.

    parents: for each drafted token the index of its parent token; -1: the text's last token.
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
        drafter_of: Any = self.drafting.load(context)
        require_branching(context.target)
        drafter_of(Sampling()).require_trees()
        return lambda sampling: TreeDrafter(drafter_of(sampling), self.parents, without_replacement)
