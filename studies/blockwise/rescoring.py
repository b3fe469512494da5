"""Drafts chosen from the lattice of a block: one draft, or several for one target call.

Both methods of Kim et al. 2024 (blockwise drafts), section 7, choose without randomness. So the
verifier's q is one-hot, and decoding is lossless at every temperature.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from reference.drafter import Draft, draft_from, merge_drafts
from reference.laws import OneHot
from reference.models.model import Model, Stopwatch, fitted
from reference.policies import Policy
from reference.scoring import ScoreOptions, Scores, Stretch, nothing_drafted, score_laws
from studies.blockwise.best_paths import (
    Automaton,
    Lattice,
    best_paths,
    lattice_of,
    read_lattice,
    require_arcs,
    require_search,
)
from studies.blockwise.heads import HeadsDrafter


class LocalRescoring:
    """Chooses each token greedily by the sum of the heads' scores and a small model's logits.

        z_j[S_j] <- z_j[S_j] + alpha r_{t+j}[S_j]    (Kim et al. 2024, Algorithm 2 and 7.1)

    S_j: head j's tokens in the lattice; r: the small model's logits after the tokens chosen so far.
    """

    def __init__(self, model: Model, vocabulary: int, *, weight: float) -> None:
        """Stores the small model, fitted to `vocabulary` ids; weight: alpha, at least 0."""
        require_search(weight)
        self.model = fitted(model, vocabulary)
        self.weight = weight

    def start(self, prompt: Sequence[int]) -> None:
        self.model.start(prompt)

    @torch.inference_mode()
    def drafts(self, lattice: Lattice, text: Sequence[int], limit: int) -> NDArray[np.int64]:
        """Returns one draft, (1, limit); past the small model's context length the heads choose."""
        chosen = lattice.tokens[:limit, 0].copy()
        positions = self.model.max_length
        room = len(chosen) if positions is None else positions - len(text) + 1
        steps = min(len(chosen), room)
        self.model.rollback(min(self.model.length, len(text) - 1))
        feed = list(text[self.model.length :])
        for step, tokens in enumerate(lattice.tokens[: max(steps, 0)]):
            logits = self.model.extend(torch.tensor(feed, device=self.model.device))[-1]
            rescoring = logits[torch.from_numpy(tokens).to(logits.device)].double().cpu().numpy()
            chosen[step] = tokens[np.argmax(lattice.scores[step] + self.weight * rescoring)]
            feed = [int(chosen[step])]
        return chosen[None]


class GlobalRescoring:
    """Drafts the p paths with the best scores by heads and n-gram model (Kim et al. 2024, 7.2)."""

    def __init__(self, automaton: Automaton | None, *, weight: float, count: int) -> None:
        """Stores an n-gram model (None: only heads' scores count) and p, the number of drafts."""
        require_search(weight, count=count)
        self.automaton = automaton
        self.weight = weight
        self.count = count

    def start(self, prompt: Sequence[int]) -> None:
        pass

    def drafts(self, lattice: Lattice, text: Sequence[int], limit: int) -> NDArray[np.int64]:
        """Returns the first `limit` tokens of the p best paths, or of all if there are fewer."""
        arcs = read_lattice(lattice, self.automaton, text)
        tokens, _ = best_paths(lattice, arcs, count=self.count, weight=self.weight)
        return tokens[:, :limit]


Rescoring = LocalRescoring | GlobalRescoring
"""Chooses drafts from a lattice: `drafts` returns ids of shape (p, limit), best first. A longer
draft begins with the shorter one, so that one replay of a text serves every gamma."""


class LatticeDrafter:
    """Drafts with blockwise heads; a rescorer chooses drafts from the lattice of their tokens."""

    sampling = None

    def __init__(self, heads: HeadsDrafter, rescoring: Rescoring, *, k: int, name: str) -> None:
        """Combines heads with a rescorer; k: number of tokens per head in the lattice."""
        require_arcs(k, heads.target.vocabulary)
        self.heads = heads
        self.rescoring = rescoring
        self.k = k
        self.name = name
        self._stopwatch = Stopwatch(torch.device("cpu"))
        self._going: list[list[list[int]]] = []  # for scoring: drafts of blocks that began earlier

    @property
    def forward_seconds(self) -> float:
        return self.heads.forward_seconds + self._stopwatch.seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self.rescoring.start(prompt)
        self._going = []

    def _drafts(self, text: Sequence[int], limit: int) -> list[list[int]]:
        """Returns the drafts after a text, best first; [] if the heads have no state to read."""
        logits = self.heads.logits(text, self.heads.heads.count - 1) if limit > 0 else None
        if logits is None:
            return []
        with self._stopwatch:
            lattice = lattice_of(logits.float().log_softmax(dim=-1).cpu().numpy(), self.k)
            drafts: list[list[int]] = self.rescoring.drafts(lattice, text, limit).tolist()
        return drafts

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        """Returns one draft, which the policy may shorten, or several, merged into a whole tree."""
        drafts = self._drafts(text, limit)
        device = self.heads.target.device
        if len(drafts) > 1:
            return merge_drafts(drafts, device)
        tokens = torch.tensor(drafts[0] if drafts else [], dtype=torch.int64, device=device)
        return draft_from(OneHot(tokens), len(tokens), policy, generator)

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        """Returns the acceptance scores of a stretch's tokens, equal for every sampling.

        A token's ratio is 1 if a draft agrees with the text from its block's start up to the token,
        else 0. The target's cache must hold the text up to the stretch's last token.
        """
        whole = [*stretch.text, *stretch.tokens]
        scores = nothing_drafted(len(stretch.tokens), options)
        assert scores.drafted is not None
        for place, token in enumerate(stretch.tokens):
            drafts = self._drafts(whole[: len(stretch.text) + place], options.max_gamma)
            if drafts:
                scores.drafted[place] = len(drafts[0])
                begin = sorted({draft[0] for draft in drafts})
                first = torch.tensor(begin, device=stretch.p.device)
                p = stretch.p.at(torch.full_like(first, place))
                here = Stretch(stretch.text, begin, p)
                begun = score_laws(here, OneHot(first), options.leniences)
                scores.beta[place] = begun.beta.sum()
                scores.lenient_beta[place] = begun.lenient_beta.sum(dim=0).clamp(max=1.0)
            going = [drafts, *self._going[: options.max_gamma - 1]]
            # For each block, the drafts that agree with the text so far.
            self._going = [
                [draft for draft in of_block if draft[offset : offset + 1] == [token]]
                for offset, of_block in enumerate(going)
            ]
            agree = [float(len(of_block) > 0) for of_block in self._going]
            scores.ratio[place, : len(agree)] = torch.tensor(agree, dtype=torch.float64)
        return [scores for _ in options.samplings]
