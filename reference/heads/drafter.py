"""Drafting with blockwise heads: the whole block from one state that is there already.

Stern et al. 2018, section 3: the pass that verifies a block has computed the state from which the
next is predicted, so a block is one call of the target. The state at the last position that a
pass accepted gave the target's own token, the text's last; the further heads continue from there.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from reference.drafter import Draft
from reference.heads.heads import Heads
from reference.laws.laws import Laws, OneHot, overlap
from reference.laws.sampling import Sampling
from reference.laws.scoring import Scores, score_laws
from reference.models.model import Model, peaks, require_finite
from reference.models.stopwatch import Stopwatch
from reference.policies.policy import Policy


class HeadsDrafter:
    """Drafts position i of a block from head i + 2's own law, whatever was drawn before.

    That law is the q of the verifier, so that sampling is lossless at every temperature (which
    Kim et al. 2024, appendix B.1, leave open).
    """

    def __init__(
        self, target: Model, heads: Heads, embedding: nn.Module, sampling: Sampling, *, name: str
    ) -> None:
        """Binds heads to the model that verifies their drafts.

        Args:
          target: keeps the states that the heads read.
          heads: trained on its states.
          embedding: reads the heads' states: the target's output embedding.
          sampling: makes laws of the heads' logits; usually the target's own settings.
          name: what reports call it.
        """
        self.target = target
        self.heads = heads
        self.embedding = embedding
        self.sampling = sampling
        self.name = name
        self._stopwatch = Stopwatch(target.device)

    @property
    def forward_seconds(self) -> float:
        return self._stopwatch.seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        pass

    def logits(self, text: Sequence[int], limit: int) -> Tensor | None:
        """Returns the logits of the heads for what follows text, shape (positions, vocabulary).

        None where there is no state to draft from: after a text of one token.

        Args:
          text: ids, of which the target's cache holds all but the last.
          limit: the most positions wanted, at least 0.
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
            none = torch.empty(0, dtype=torch.int64, device=self.target.device)
            return Draft(none, OneHot(none))
        laws = self.sampling.laws(logits, text)
        tokens: list[Tensor] = []
        refused = False
        for at in torch.arange(len(logits), device=logits.device).split(1):
            law = laws.at(at)
            refused = not policy.trusts(law)
            if refused:
                break
            tokens.append(law.draw(generator))
            if len(tokens) < len(logits) and not policy.goes_on(tokens[-1], law):
                break
        drafted = torch.cat([torch.empty(0, dtype=torch.int64, device=logits.device), *tokens])
        finite = peaks(logits[: len(drafted)]).isfinite()
        return Draft(drafted, laws.first(len(drafted)), finite, refused)

    def score(
        self,
        prompt: Sequence[int],
        text: Sequence[int],
        continuation: Sequence[int],
        p: Laws,
        max_gamma: int,
    ) -> Scores:
        """Returns the scores of the blocks that begin at each token of the continuation.

        The target's cache must hold text and continuation but for its last token, as it does
        once `p` has been computed.
        """
        whole = [*text, *continuation]
        tokens = len(continuation)
        beta = torch.zeros(tokens, dtype=torch.float64)
        acceptance = torch.zeros(tokens, max_gamma, dtype=torch.float64)
        drafted = torch.zeros(tokens, dtype=torch.int64)
        places = torch.arange(tokens, device=p.device)
        for start in range(tokens):
            logits = self.logits(whole[: len(text) + start], max_gamma)
            if logits is None:
                continue
            require_finite(peaks(logits).isfinite().tolist(), self.name, len(text) + start)
            # As `propose` drafts, whose block may go on beyond the text; only what is in it counts.
            q = self.sampling.laws(logits, whole[: len(text) + start])
            drafted[start] = len(logits)
            inside = places[start : start + len(logits)]
            scores = score_laws(
                p.at(inside), q.first(len(inside)), continuation[start : start + len(inside)]
            )
            beta[start] = overlap(p.at(inside[:1]), q.first(1)).item()
            acceptance[start, : len(inside)] = scores.acceptance
        return Scores(beta, acceptance, drafted)
