"""A model or a head that drafts a tree: at each of its tokens several choices of what follows.

SpecInfer (Miao et al. 2023) and Sequoia (Chen et al. 2024). Either a token's children are the
likeliest that may follow it, chosen without chance, or they are drawn without replacement; either
way the verifier (`reference.branches`) keeps the target's law.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from reference.drafter import Draft, no_draft
from reference.drafters.branching import Branching, line
from reference.laws.laws import Dense, Laws, OneHot, concatenate
from reference.laws.sampling import Sampling
from reference.laws.scoring import Asked, Scores, Stretch
from reference.models.model import peaks, require_finite
from reference.policies.policy import Policy

Choice = tuple[Tensor, Laws]
"""Tokens that may follow a text, shape (n,), int64, and the law of each given those before it."""
Choose = Callable[[Laws, int, torch.Generator], Choice]


def likeliest(law: Laws, count: int, generator: torch.Generator) -> Choice:
    """Returns the likeliest tokens; of those equally likely, the smallest ids first.

    Args:
      law: of one position; a one-hot one with its logits, without which it has one choice.
      generator: not advanced.
    """
    odds = law.logits if isinstance(law, OneHot) else law.probabilities
    if odds is None:
        return law.draw(generator), law
    order = odds.sort(dim=-1, descending=True, stable=True)
    possible = int((order.values[0, :count] > (0 if isinstance(law, Dense) else -torch.inf)).sum())
    tokens = order.indices[0, :possible]
    return tokens, OneHot(tokens)


def without_replacement(law: Laws, count: int, generator: torch.Generator) -> Choice:
    """Returns tokens drawn one after the other, none twice (Sequoia, Algorithm 2).

    Under a one-hot law, where nothing is drawn, they are the likeliest.
    """
    if isinstance(law, OneHot):
        return likeliest(law, count, generator)
    odds = law.probabilities
    tokens: list[Tensor] = []
    rows: list[Laws] = []
    while len(tokens) < count and bool(odds.sum() > 0):
        rows.append(Dense(odds / odds.sum(dim=-1, keepdim=True)))
        tokens.append(rows[-1].draw(generator))
        odds = odds.scatter(1, tokens[-1][:, None], 0.0)
    return torch.cat(tokens), concatenate(rows)


class TreeDrafter:
    """Drafts a tree of one shape with a drafter, a pass of it for each of the tree's levels.

    No policy ends a tree; its gamma cuts the tree's depth.
    """

    def __init__(
        self, model: Branching, parents: Sequence[int], choose: Choose = likeliest
    ) -> None:
        """Shapes a drafter's drafts.

        Args:
          model: drafts, and must read trees (its `require_trees`).
          parents: which earlier node each one follows, -1 the text; the children of one node are
            its choices in their order.

        Raises:
          ValueError: if a parent is no earlier node, or there are more nodes than the model has
            positions.
        """
        for place, parent in enumerate(parents):
            if not -1 <= parent < place:
                raise ValueError(
                    f"parents must be earlier nodes or -1, got {parent} for node {place}"
                )
        most = model.most_nodes
        if most is not None and len(parents) > most:
            raise ValueError(
                f"a tree must have at most {most} nodes, the positions of {model.name}, "
                f"got {len(parents)}"
            )
        self.model = model
        self.parents = tuple(parents)
        self.choose = choose
        self._children: dict[int, list[int]] = {}
        for place, parent in enumerate(self.parents):
            self._children.setdefault(parent, []).append(place)
        lines = (line(place, self.parents) for place in range(len(self.parents)))
        self._depth = max(map(len, lines), default=0)
        self._ranks: dict[Sampling, list[list[int]]] = {}  # scoring: of the text so far

    @property
    def name(self) -> str:
        return f"{self.model.name}, tree of {len(self.parents)}"

    @property
    def sampling(self) -> Sampling:
        return self.model.sampling

    @property
    def forward_seconds(self) -> float:
        return self.model.forward_seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self.model.start(prompt, text)
        self._ranks = {}

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        begun = self.model.begin_tree(text, min(limit, self._depth))
        nothing = no_draft(generator.device)
        if begun is None:
            return nothing
        tokens = nothing.tokens
        depths, logits = begun
        parents: list[int] = []
        laws: list[Laws] = []
        paths: list[list[Tensor]] = []
        # Of the tree's shape, by where its nodes stand in the draft; -1 is the text.
        level = {-1: -1}
        for depth in range(1, depths + 1):
            for largest in peaks(logits).tolist():
                require_finite([largest], self.name, len(text) + depth - 1)
            grown: dict[int, int] = {}
            for row, (node, place) in enumerate(level.items()):
                path = [] if place < 0 else paths[place]
                law = self.sampling.laws(logits[row : row + 1], text, path)
                children = self._children[node]
                chosen, q = self.choose(law, len(children), generator)
                laws.append(q)
                for child, token in zip(children, chosen.split(1), strict=False):
                    grown[child] = len(parents)
                    parents.append(place)
                    paths.append([*path, token])
                tokens = torch.cat([tokens, chosen])
            level = {node: place for node, place in grown.items() if node in self._children}
            if not level or depth == depths:
                break
            logits = self.model.deepen(text, tokens, parents, list(level.values()))
        return Draft(tokens, concatenate(laws), parents=tuple(parents))

    def score(self, stretch: Stretch, asked: Asked) -> list[Scores]:
        """Returns what trees of likeliest tokens accept: where the text is a path of one.

        beta is that of the text's own token: 1 where it is among the first choices of the tree.

        Raises:
          ValueError: under settings that draw (what such a tree accepts depends on both laws), or
            with leniences.
        """
        if asked.leniences or not all(sampling.greedy for sampling in asked.samplings):
            raise ValueError(
                "a tree to score must be of likeliest tokens under the strict rule: set the "
                "draft temperature to 0"
            )
        found = self.model.score(stretch, asked)
        positions = len(stretch.tokens)
        scores = []
        for sampling, of_model in zip(asked.samplings, found, strict=True):
            rank = of_model.rank
            assert rank is not None  # one-hot laws of logits have them
            if rank.ndim == 1:
                rank = rank[:, None].expand(-1, asked.max_gamma)
            ranks = self._ranks.setdefault(sampling, [])
            ranks += rank.tolist()
            stands = self._stands(ranks, len(ranks) - positions, asked.max_gamma)
            depth = min(self._depth, asked.max_gamma)
            scores.append(
                Scores(
                    beta=stands[:, :1].sum(dim=1),
                    ratio=stands,
                    drafted=_at_most(depth, of_model.drafted, positions),
                    lenient_beta=torch.zeros(positions, 0, dtype=torch.float64),
                )
            )
        return scores

    def _stands(self, ranks: Sequence[Sequence[int]], first: int, max_gamma: int) -> Tensor:
        """Returns `Scores.ratio` of all positions of a text from the first wanted one.

        Args:
          ranks: of each position by how far before it the block began.
        """
        stands = torch.zeros(len(ranks) - first, max_gamma, dtype=torch.float64)
        for start in range(max(first - max_gamma + 1, 0), len(ranks)):
            node = -1
            for offset, of_position in enumerate(ranks[start : start + max_gamma]):
                children, rank = self._children.get(node, []), of_position[offset]
                if rank >= min(len(children), self.model.vocabulary):
                    break
                node = children[rank]
                if start + offset >= first:
                    stands[start + offset - first, offset] = 1.0
        return stands


def _at_most(depth: int, drafted: Tensor | None, positions: int) -> Tensor:
    """Returns how deep a tree is at each position, as far as its drafter drafts there."""
    return torch.full((positions,), depth) if drafted is None else drafted.clamp(max=depth)
