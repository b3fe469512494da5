"""Reads several continuations of a text in one pass, by an attention mask."""

from collections.abc import Collection, Iterable, Sequence

import torch
from torch import Tensor

from reference.models.model import Model, peaks, require_finite

# Relative to the range of the logits: above rounding in half precision, far below the effect of
# reading the wrong tokens.
TRIAL_TOLERANCE = 0.02


def tree_mask(parents: Sequence[int], length: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Returns the attention mask and positions for tokens that branch (SpecInfer's tree).

    A token attends to the text before the tree, to its ancestors and to itself. The mask is added
    to attention scores, shape (1, 1, tokens, length + tokens); positions have shape (tokens,).

    parents: for each token, the index of the token that it follows; -1: the text's last token.
    length: number of tokens before the tree.
    """
    sees = torch.eye(len(parents), dtype=torch.bool)
    for place, parent in enumerate(parents):
        if parent >= 0:
            sees[place] |= sees[parent]
    unseen = torch.nn.functional.pad(~sees, (length, 0))
    return hidden_at(unseen, dtype), length - 1 + sees.sum(dim=1)


def hidden_at(unseen: Tensor, dtype: torch.dtype) -> Tensor:
    """Returns a mask to add to attention scores, which hides `unseen`; (1, 1, rows, columns)."""
    mask = torch.zeros(unseen.shape, dtype=dtype, device=unseen.device)
    return mask.masked_fill_(unseen, torch.finfo(dtype).min)[None, None]


def require_branching(model: Model) -> None:
    """Refuses a model that gives a small tree other logits than the tree's paths one by one.

    The check overwrites the model's cache. Models with sliding windows or relative positions, or
    whose attention ignores masks, fail it.
    """
    ids = torch.arange(1, 6, device=model.device) % model.vocabulary
    _, second, third, fourth, fifth = ids.split(1)
    model.start(ids[:2].tolist())
    whole = model.extend(torch.cat([second, third, fourth, fifth]), (-1, 0, 0, 2))
    paths = []
    for path in (torch.cat([second, third]), torch.cat([second, fourth, fifth])):
        model.start(ids[:2].tolist())
        paths.append(model.extend(path)[1:])
    expected = torch.cat(paths).float()
    apart = float((whole[1:].float() - expected).abs().max())
    if not apart <= TRIAL_TOLERANCE * float(expected.max() - expected.min()):
        raise ValueError(
            f"drafts that branch need a model that reads a tree by an attention mask, "
            f"got {model.name}, whose logits then change by {apart:.2g}"
        )


Tokens = tuple[int, ...]


def prefix_tree(paths: Iterable[Tokens]) -> tuple[list[int], list[int], dict[Tokens, int]]:
    """Returns the tree of some continuations, in which a shared prefix occurs once.

    The result is the tree's tokens; for each token, the index of the token that it follows (-1: the
    text's last token); and for each prefix, the index of its last token (-1: no tokens).
    """
    tokens: list[int] = []
    parents: list[int] = []
    places: dict[Tokens, int] = {(): -1}
    for path in paths:
        for end in range(1, len(path) + 1):
            if path[:end] not in places:
                places[path[:end]] = len(tokens)
                tokens.append(path[end - 1])
                parents.append(places[path[: end - 1]])
    return tokens, parents, places


class TextTree:
    """Reads several continuations of one text with a model whose cache holds a single text.

    The cache keeps the continuations' common prefix. The rest is read again at each call: in one
    pass if the model can read a tree (`branches`), else one continuation after another. Both ways
    give equal results.

    fed: number of tokens that the model has read, without the prompt.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.fed = 0
        self.branches = True
        try:
            require_branching(model)
        except ValueError:
            self.branches = False
        self._text: list[int] = []

    def start(self, prompt: Sequence[int]) -> None:
        self._text = self.model.start(prompt)
        self.fed = 0

    def log_probs(self, shared: Tokens, continuations: Collection[Tokens]) -> dict[Tokens, Tensor]:
        """Returns log-probabilities of the next token after each continuation, float32.

        shared: common prefix of these and all later continuations.
        """
        text = [*self._text, *shared]
        self.model.rollback(min(self.model.length, len(text) - 1))
        unseen = text[self.model.length :]
        logits = (self._tree if self.branches else self._paths)(unseen, shared, continuations)
        rows_by_path = {path: logits[path] for path in continuations}
        largest = peaks(torch.stack(list(rows_by_path.values())))
        require_finite(largest.tolist(), self.model.name, len(text))
        return {path: row.float().log_softmax(dim=-1) for path, row in rows_by_path.items()}

    def _tree(
        self, unseen: Sequence[int], shared: Tokens, continuations: Collection[Tokens]
    ) -> dict[Tokens, Tensor]:
        base, last = self.model.length, len(unseen) - 1
        tails = {path: path[len(shared) :] for path in continuations}
        tokens, parents, places = prefix_tree(tails.values())
        feed = torch.tensor([*unseen, *tokens], device=self.model.device)
        branches = [*range(-1, last), *(last + 1 + parent for parent in parents)]
        logits = self.model.extend(feed, branches if tokens else None)
        self.model.keep(base, range(len(unseen)))
        self.fed += len(feed)
        return {path: logits[last + 1 + places[tail]] for path, tail in tails.items()}

    def _paths(
        self, unseen: Sequence[int], shared: Tokens, continuations: Collection[Tokens]
    ) -> dict[Tokens, Tensor]:
        rows = self.model.extend(torch.tensor(unseen, device=self.model.device))
        rows_by_path = {shared: rows[-1]}
        self.fed += len(unseen)
        base = self.model.length
        for path in sorted(continuations, key=len, reverse=True):
            if path not in rows_by_path:
                tail = path[len(shared) :]
                rows = self.model.extend(torch.tensor(tail, device=self.model.device))
                self.model.rollback(base)
                self.fed += len(tail)
                for end, row in enumerate(rows, start=1):
                    rows_by_path.setdefault((*shared, *tail[:end]), row)
        return rows_by_path
