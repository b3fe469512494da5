"""A toy model whose exact next-token laws are known: the laboratory of the exactness tests."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Table = Callable[[Sequence[int]], Sequence[float]]


def constant(law: Sequence[float]) -> Table:
    """Returns the table of a model whose tokens are independent, each of one law."""
    return lambda _: law


class TabularModel:
    """A model given as a function from a text to its next-token probabilities, in float64."""

    device = torch.device("cpu")
    max_length: int | None = None
    rope_switch_length: int | None = None
    forward_seconds = 0.0

    def __init__(self, table: Table, vocabulary: int, name: str = "table") -> None:
        """Wraps a table.

        Args:
          table: maps the ids of a text to probabilities, shape (vocabulary,), summing to 1.
        """
        self.table = table
        self.vocabulary = vocabulary
        self.name = name
        self._text: list[int] = []

    @property
    def length(self) -> int:
        return len(self._text)

    def beginning(self, prompt: Sequence[int]) -> list[int]:
        return list(prompt)

    def start(self, prompt: Sequence[int]) -> list[int]:
        self._text = list(prompt[:-1])
        return list(prompt)

    def extend(self, tokens: Tensor, parents: Sequence[int] | None = None) -> Tensor:
        rows = []
        before = self._text.copy() if parents is not None else []
        texts: list[list[int]] = []
        for place, token in enumerate(tokens.tolist()):
            self._text.append(token)
            text = self._text
            if parents is not None:
                text = [*(before if parents[place] < 0 else texts[parents[place]]), token]
                texts.append(text)
            rows.append([math.log(p) if p > 0 else -math.inf for p in self.table(text)])
        return torch.tensor(rows, dtype=torch.float64)

    def state(self, position: int) -> Tensor | None:
        """Returns the probabilities that follow a position: all that there is to know of it."""
        if not 0 <= position < self.length:
            return None
        return torch.tensor(self.table(self._text[: position + 1]), dtype=torch.float64)

    def keep(self, length: int, places: Sequence[int]) -> None:
        self._text[length:] = [self._text[length + place] for place in places]

    def rollback(self, length: int) -> None:
        if not 0 <= length <= self.length:
            raise ValueError(f"length must lie in [0, {self.length}], got {length}")
        del self._text[length:]
