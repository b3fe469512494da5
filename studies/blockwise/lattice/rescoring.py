"""Two ways to choose drafts from a lattice: a small model step by step, or an n-gram at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from reference.models.fitted_model import fitted
from reference.models.model import Model
from studies.blockwise.lattice.automaton import Automaton
from studies.blockwise.lattice.best_paths import Lattice, best_paths, require_search


class LocalRescoring:
    """Greedy choice, step by step, by heads and a small autoregressive model together.

        z_j[S_j] <- z_j[S_j] + alpha r_{t+j}[S_j]    (Kim et al. 2024, Algorithm 2 and 7.1)

    S_j are head j's tokens in the lattice and r the small model's logits after those chosen
    before.
    """

    def __init__(self, model: Model, vocabulary: int, *, weight: float) -> None:
        """Takes a rescoring model.

        Args:
          weight: alpha, at least 0; 0 leaves the heads' own choice.

        Raises:
          ValueError: if weight is out of range.
        """
        require_search(weight)
        self.model = fitted(model, vocabulary)
        self.weight = weight

    def start(self, prompt: Sequence[int]) -> None:
        self.model.start(prompt)

    @torch.inference_mode()
    def drafts(self, lattice: Lattice, text: Sequence[int], limit: int) -> NDArray[np.int64]:
        """Returns one draft; where the model's positions end, the heads' own."""
        chosen = lattice.tokens[:limit, 0].copy()
        positions = self.model.max_length
        room = len(chosen) if positions is None else positions - len(text) + 1
        steps = min(len(chosen), room)
        self.model.rollback(min(self.model.length, len(text) - 1))
        feed = list(text[self.model.length :])
        for step in range(steps):
            logits = self.model.extend(torch.tensor(feed, device=self.model.device))[-1]
            tokens = lattice.tokens[step]
            rescoring = logits[torch.from_numpy(tokens).to(logits.device)].double().cpu().numpy()
            place = int(np.argmax(lattice.scores[step] + self.weight * rescoring))
            chosen[step] = tokens[place]
            feed = [int(tokens[place])]
        return chosen[None]


class GlobalRescoring:
    """The p best of all paths by heads and an n-gram model together (Kim et al. 2024, 7.2)."""

    def __init__(self, automaton: Automaton | None, *, weight: float, count: int) -> None:
        """Takes an n-gram model.

        Args:
          automaton: of that model; None: paths by the heads' scores alone.
          weight: of the n-gram's log-probabilities, at least 0.
          count: p, how many drafts are verified in parallel, at least 1; 1 is n-gram rescoring.

        Raises:
          ValueError: if weight or count is out of range.
        """
        require_search(weight, count=count)
        self.automaton = automaton
        self.weight = weight
        self.count = count

    def start(self, prompt: Sequence[int]) -> None:
        pass

    def drafts(self, lattice: Lattice, text: Sequence[int], limit: int) -> NDArray[np.int64]:
        """Returns how the p best paths of the whole lattice begin; all where there are fewer."""
        whole = best_paths(
            lattice,
            count=self.count,
            automaton=self.automaton,
            weight=self.weight,
            text=text,
        )
        return whole.tokens[:, :limit]
