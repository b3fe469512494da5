"""Tree drafts: a model or head proposes several continuations at each token.

SpecInfer (Miao et al. 2023) and Sequoia (Chen et al. 2024). The children of a token are either the
likeliest next tokens, chosen without randomness, or drawn without replacement. In both cases the
verifier (`reference.branches`) preserves the target's distribution.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from reference.drafter import Draft, no_draft
from reference.drafters.branching import Branching, line
from reference.laws.laws import Dense, Laws, OneHot, concatenate
from reference.laws.sampling import Sampling
from reference.laws.scoring import ScoreOptions, Scores, Stretch
from reference.models.model import peaks, require_finite
from reference.policies.policy import Policy

Choice = tuple[Tensor, Laws]
"""Next tokens, shape (n,), int64, and for each its distribution given the tokens before it."""
Choose = Callable[[Laws, int, torch.Generator], Choice]


def likeliest(law: Laws, count: int, generator: torch.Generator) -> Choice:
    """Returns the likeliest tokens; ties go to the smallest id.

    Args:
      law: a distribution at one position. A one-hot one needs its logits; else it has one choice.
      generator: not used.
    """
    odds = law.logits if isinstance(law, OneHot) else law.probabilities
    if odds is None:
        return law.draw(generator), law
    order = odds.sort(dim=-1, descending=True, stable=True)
    possible = int((order.values[0, :count] > (0 if isinstance(law, Dense) else -torch.inf)).sum())
    tokens = order.indices[0, :possible]
    return tokens, OneHot(tokens)


def without_replacement(law: Laws, count: int, generator: torch.Generator) -> Choice:
    """Returns tokens drawn one after the other, without repetition (Sequoia, Algorithm 2).

    For a one-hot distribution they are the likeliest tokens, and nothing is drawn.
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
    """Drafts trees of one fixed shape, with one pass of its drafter per level of the tree.

    A policy does not end a tree early; gamma limits the tree's depth.
    """

    def __init__(
        self, model: Branching, parents: Sequence[int], choose: Choose = likeliest
    ) -> None:
        """Fixes the shape of a drafter's trees.

        Args:
          model: the drafter; it must be able to read trees (its `require_trees`).
          parents: for each node, the index of its parent; -1: the text. The children of a node are
            its first, second, ... choice in this order.

        Raises:
          ValueError: if a parent does not come before its child, or if there are more nodes than
            the model has positions.
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
        self._ranks: dict[Sampling, list[list[int]]] = {}  # for scoring: ranks of the text so far

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
        # Levels of the tree's nodes by their index in the draft; -1 is the text.
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

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        """Returns what trees of likeliest tokens accept: 1 where the text is a path of the tree.

        beta is 1 where the text's token is among the tree's first choices, else 0.

        Raises:
          ValueError: if the draft's setting draws tokens (acceptance then depends on both
            distributions), or if a lenience is given.
        """
        if options.leniences or not all(sampling.greedy for sampling in options.samplings):
            raise ValueError(
                "a tree to score must be of likeliest tokens under the strict rule: set the "
                "draft temperature to 0"
            )
        found = self.model.score(stretch, options)
        positions = len(stretch.tokens)
        scores = []
        for sampling, of_model in zip(options.samplings, found, strict=True):
            rank = of_model.rank
            assert rank is not None  # one-hot laws of logits have them
            if rank.ndim == 1:
                rank = rank[:, None].expand(-1, options.max_gamma)
            ranks = self._ranks.setdefault(sampling, [])
            ranks += rank.tolist()
            stands = self._stands(ranks, len(ranks) - positions, options.max_gamma)
            depth = min(self._depth, options.max_gamma)
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
        """Returns `Scores.ratio` for all positions of a text from `first` on.

        Args:
          ranks: by position, the token's rank for each distance to the block's beginning.
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
    """Returns a tree's depth at each position, limited by what its drafter drafts there."""
    return torch.full((positions,), depth) if drafted is None else drafted.clamp(max=depth)
