"""Reads several continuations of a text with a model whose cache holds one text."""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from reference.models.model import Model, peaks, require_finite
from reference.models.tree_mask import require_branching

Tokens = tuple[int, ...]


class TextTree:
    """Log-probabilities after each of several continuations of one text.

    The common prefix stays in the cache. The rest is read again each time: in one pass if the model
    can read a tree by an attention mask, else path by path, with equal results.

    branches: whether the model can read a tree in one pass.
    fed: tokens read so far, without the prompt.
    """

    def __init__(self, model: Model) -> None:
        """Tests how the model can be read, which may overwrite its cache."""
        self.model = model
        self.fed = 0
        try:
            require_branching(model)
        except ValueError:
            self.branches = False
        else:
            self.branches = True
        self._text: list[int] = []

    def start(self, prompt: Sequence[int]) -> None:
        """Begins a new text."""
        self._text = self.model.start(prompt)
        self.fed = 0

    def log_probs(self, shared: Tokens, continuations: Collection[Tokens]) -> dict[Tokens, Tensor]:
        """Returns log-probabilities of the next token after each continuation, float32.

        Args:
          shared: common prefix of these and all later continuations.
          continuations: sequences of ids after the text, at least one.
        """
        text = [*self._text, *shared]
        self.model.rollback(min(self.model.length, len(text) - 1))
        kept = self.model.length
        unseen = text[kept:]
        logits = (self._tree if self.branches else self._paths)(unseen, shared, continuations)
        found = {path: logits[path] for path in continuations}
        largest = peaks(torch.stack(list(found.values())))
        require_finite(largest.tolist(), self.model.name, len(text))
        return {path: row.float().log_softmax(dim=-1) for path, row in found.items()}

    def _tree(
        self, unseen: Sequence[int], shared: Tokens, continuations: Collection[Tokens]
    ) -> dict[Tokens, Tensor]:
        base = self.model.length
        places = {shared: len(unseen) - 1}
        tokens, parents = list(unseen), list(range(-1, len(unseen) - 1))
        for path in sorted(continuations, key=len):
            for end in range(len(shared) + 1, len(path) + 1):
                if path[:end] not in places:
                    places[path[:end]] = len(tokens)
                    parents.append(places[path[: end - 1]])
                    tokens.append(path[end - 1])
        feed = torch.tensor(tokens, device=self.model.device)
        chain = len(tokens) == len(unseen)
        logits = self.model.extend(feed, None if chain else parents)
        self.model.keep(base, range(len(unseen)))
        self.fed += len(tokens)
        return {path: logits[place] for path, place in places.items()}

    def _paths(
        self, unseen: Sequence[int], shared: Tokens, continuations: Collection[Tokens]
    ) -> dict[Tokens, Tensor]:
        rows = self.model.extend(torch.tensor(unseen, device=self.model.device))
        found = {shared: rows[-1]}
        self.fed += len(unseen)
        base = self.model.length
        for path in sorted(continuations, key=len, reverse=True):
            if path not in found:
                tail = path[len(shared) :]
                rows = self.model.extend(torch.tensor(tail, device=self.model.device))
                self.model.rollback(base)
                self.fed += len(tail)
                for end, row in enumerate(rows, start=1):
                    found.setdefault((*shared, *tail[:end]), row)
        return found
