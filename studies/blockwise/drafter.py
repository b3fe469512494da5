"""Drafts with blockwise heads: a whole block from one state that is already computed.

Stern et al. 2018, section 3: the pass that verifies a block also computes the state that predicts
the next block, so a block costs one target call. The state at the last accepted position predicted
the target's own token, the last of the text; the further heads predict the tokens after it.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from reference.drafter import Draft, draft_from, no_draft
from reference.laws import Sampling
from reference.models.model import Model, Stopwatch, peaks, require_finite
from reference.policies import Policy
from reference.scoring import ScoreOptions, Scores, Stretch, nothing_drafted, score_laws
from studies.blockwise.heads import Heads


class HeadsDrafter:
    """Drafts position i of a block from head i + 2's distribution, independently of earlier draws.

    The verifier uses this distribution as q, so sampling is lossless at every temperature (which
    Kim et al. 2024, appendix B.1, leave open).
    """

    def __init__(
        self, target: Model, heads: Heads, embedding: nn.Module, sampling: Sampling, *, name: str
    ) -> None:
        """Connects heads to the model that verifies their drafts."""
        self.target = target
        self.heads = heads
        self.embedding = embedding
        self.sampling = sampling
        self.name = name
        self._stopwatch = Stopwatch(target.device)
        self._beginning = 0  # for scoring: where the first block began

    @property
    def forward_seconds(self) -> float:
        return self._stopwatch.seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self._beginning = len(text)

    def logits(self, text: Sequence[int], limit: int) -> Tensor | None:
        """Returns the heads' logits for the tokens after a text, shape (positions, vocabulary).

        None if there is no state to draft from: after a text of one token.

        text: ids; the target's cache holds all but the last.
        limit: most positions to return, at least 0.
        """
        state = self.target.state(len(text) - 2)
        limit = min(limit, self.heads.count - 1)
        if state is None or limit == 0:
            return None
        with self._stopwatch, torch.inference_mode():
            read: Tensor = self.embedding(self.heads(state[None], limit).squeeze(1))
        return read

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        logits = self.logits(text, limit)
        if logits is None:
            return no_draft(self.target.device)
        return draft_from(self.sampling.laws(logits, text), len(logits), policy, generator)

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        """Returns, per sampling, the verification scores of all blocks that overlap the stretch.

        The target's cache must hold the text up to the stretch's last token, as it does once
        `stretch.p` has been computed.
        """
        first, positions = len(stretch.text), len(stretch.tokens)
        whole = [*stretch.text, *stretch.tokens]
        scores = [nothing_drafted(positions, options) for _ in options.samplings]
        reach = min(options.max_gamma, self.heads.count - 1)
        for start in range(max(first - reach + 1, self._beginning), len(whole)):
            # Drafted as in `propose`. The part of a block beyond the text is ignored.
            logits = self.logits(whole[:start], reach)
            if logits is None:
                continue
            require_finite(peaks(logits).tolist(), self.name, start)
            offsets = torch.arange(
                max(first - start, 0), min(reach, len(whole) - start), device=logits.device
            )
            here = (offsets + start - first).tolist()
            block = Stretch(
                whole[:start],
                [stretch.tokens[place] for place in here],
                stretch.p.at(offsets + start - first),
            )
            for sampling, found in zip(options.samplings, scores, strict=True):
                q = sampling.laws(logits, whole[:start])
                of_block = score_laws(block, q.at(offsets), options.leniences)
                found.ratio[here, offsets.tolist()] = of_block.ratio
                if start >= first:
                    assert found.drafted is not None
                    found.drafted[here[0]] = reach
                    found.beta[here[0]] = of_block.beta[0]
                    found.lenient_beta[here[0]] = of_block.lenient_beta[0]
        return scores
