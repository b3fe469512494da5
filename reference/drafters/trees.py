"""Tree drafts: a drafter proposes several continuations at each token.

SpecInfer (Miao et al. 2023) and Sequoia (Chen et al. 2024). The children of a token are either the
likeliest next tokens or drawn without replacement. In both cases the verifier preserves the
target's distribution.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from reference.drafter import Draft, Drafter, no_draft
from reference.laws import Dense, Laws, OneHot, Sampling, concatenate
from reference.models.model import peaks, require_finite
from reference.policies import Policy
from reference.scoring import ScoreOptions, Scores, Stretch

Choice = tuple[Tensor, Laws]
"""Next tokens, shape (n,), int64, and for each its distribution given the tokens before it."""
Choose = Callable[[Laws, int, torch.Generator], Choice]


class Branching(Drafter, Protocol):
    """A drafter that can continue several drafted tokens at once, so that drafts can be trees.

    Example: `reference.drafters.model_drafter.ModelDrafter`.

    vocabulary: number of logits at each position.
    most_nodes: largest number of tokens in a tree; None: no limit.
    """

    sampling: Sampling
    vocabulary: int
    most_nodes: int | None

    def require_trees(self) -> None:
        """Raises ValueError if a tree gives other logits than the tree's paths read one by one."""

    def begin_tree(self, text: Sequence[int], depth: int) -> tuple[int, Tensor] | None:
        """Returns the depth that the tree may have, and the logits after the text.

        The depth is at most `depth`; the logits have shape (1, vocabulary). Returns None if nothing
        can be drafted. Called for each block, even with depth 0.
        """

    def deepen(
        self, text: Sequence[int], tokens: Tensor, parents: Sequence[int], places: Sequence[int]
    ) -> Tensor:
        """Returns the logits after some tokens of the tree's lowest level, (places, vocabulary).

        tokens: the tree's tokens so far, shape (n,), int64.
        parents: for each token, the index of the token that it follows; -1: it follows the text.
        places: indices of these tokens; they are one level below the tokens of the previous call.
        """


def lineage(place: int, parents: Sequence[int]) -> list[int]:
    """Returns the indices of the token at `place` and of its ancestors, from the token upwards."""
    above = []
    while place >= 0:
        above.append(place)
        place = parents[place]
    return above


def likeliest(law: Laws, count: int, generator: torch.Generator) -> Choice:
    """Returns the `count` likeliest tokens; ties go to the smallest id.

    A one-hot distribution without logits has only one token. `generator` is ignored.
    """
    odds = law.logits if isinstance(law, OneHot) else law.probabilities
    if odds is None:
        return law.draw(generator), law
    order = odds.sort(dim=-1, descending=True, stable=True)
    possible = int((order.values[0, :count] > (0 if isinstance(law, Dense) else -torch.inf)).sum())
    tokens = order.indices[0, :possible]
    return tokens, OneHot(tokens)


def without_replacement(law: Laws, count: int, generator: torch.Generator) -> Choice:
    """Returns `count` tokens drawn one by one, without repetition (Sequoia, Algorithm 2).

    If the distribution is one-hot, returns the likeliest tokens.
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
    """Drafts trees of one shape, with one pass of its drafter for each level of the tree.

    The block's gamma limits the tree's depth; the policy cannot end a tree earlier.

    parents: for each node, the index of its parent, an earlier node; -1: the text. A node's first
      child is the drafter's first choice after that node, the second child its second choice, etc.
    """

    def __init__(
        self, model: Branching, parents: Sequence[int], choose: Choose = likeliest
    ) -> None:
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
        self.name = f"{model.name}, tree of {len(parents)}"
        self.sampling = model.sampling
        self.parents = tuple(parents)
        self.choose = choose
        nodes = range(len(parents))
        self._children = {above: [n for n in nodes if parents[n] == above] for above in parents}
        self._depth = max((len(lineage(node, parents)) for node in nodes), default=0)
        self._ranks: dict[Sampling, list[list[int]]] = {}  # for scoring: ranks of the text so far

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
        paths: dict[int, list[Tensor]] = {-1: []}
        # Nodes whose children come next, by their index in the draft; -1 is the text.
        level = {-1: -1}
        for depth in range(depths):
            if depth > 0:
                logits = self.model.deepen(text, tokens, parents, list(level))
            for largest in peaks(logits).tolist():
                require_finite([largest], self.name, len(text) + depth)
            grown: dict[int, int] = {}
            for row, (place, node) in enumerate(level.items()):
                law = self.sampling.laws(logits[row : row + 1], text, paths[place])
                children = self._children[node]
                chosen, q = self.choose(law, len(children), generator)
                laws.append(q)
                for child, token in zip(children, chosen.split(1), strict=False):
                    paths[len(parents)] = [*paths[place], token]
                    if child in self._children:
                        grown[len(parents)] = child
                    parents.append(place)
                tokens = torch.cat([tokens, chosen])
            level = grown
            if not level:
                break
        return Draft(tokens, concatenate(laws), parents=tuple(parents))

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        """Returns scores per sampling setting: acceptance is 1 where the text follows the tree."""
        if options.leniences or not all(sampling.greedy for sampling in options.samplings):
            raise ValueError(
                "a tree to score must be of likeliest tokens under the strict rule: set the "
                "draft temperature to 0"
            )
        by_model = self.model.score(stretch, options)
        positions, most = len(stretch.tokens), options.max_gamma
        scores = []
        for sampling, of_model in zip(options.samplings, by_model, strict=True):
            rank, drafted = of_model.rank, of_model.drafted
            assert rank is not None  # one-hot laws of logits have them
            if rank.ndim == 1:
                rank = rank[:, None].expand(-1, most)
            if drafted is None:
                drafted = torch.full((positions,), most)
            ranks = self._ranks.setdefault(sampling, [])
            ranks += rank.tolist()
            accepted = self._accepted(ranks, len(ranks) - positions, most)
            drafted, none = drafted.clamp(max=min(self._depth, most)), accepted[:, :0]
            scores.append(Scores(accepted[:, :1].sum(dim=1), accepted, drafted, none))
        return scores

    def _accepted(self, ranks: Sequence[Sequence[int]], first: int, max_gamma: int) -> Tensor:
        """Returns acceptance, 1 or 0, of the positions from `first` on, as in `Scores.ratio`."""
        accepted = torch.zeros(len(ranks) - first, max_gamma, dtype=torch.float64)
        for start in range(max(first - max_gamma + 1, 0), len(ranks)):
            node = -1
            for offset, of_position in enumerate(ranks[start : start + max_gamma]):
                children, rank = self._children.get(node, []), of_position[offset]
                if rank >= min(len(children), self.model.vocabulary):
                    break
                node = children[rank]
                if start + offset >= first:
                    accepted[start + offset - first, offset] = 1.0
        return accepted
