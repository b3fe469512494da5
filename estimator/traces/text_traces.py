"""Traces of texts that runs produced, and probabilities of given texts by models."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from estimator.timing.rates import BASELINE, Runs
from estimator.traces.scoring import trace, verification_of
from estimator.traces.traces import Trace, alpha, lenient_alpha
from reference.laws import OneHot, Sampling, overlap
from reference.models.model import Model
from reference.records import Generation
from reference.rules import Lenient
from reference.score_text import text_laws
from reference.speculative import Subject


class TextTraces:
    """Traces of texts, each scored once even if several arms produced it."""

    def __init__(
        self,
        subject: Subject,
        prompts: Sequence[Sequence[int]],
        max_gamma: int,
        *,
        ahead: int = 0,
    ) -> None:
        """Stores a pair and its prompts; max_gamma, ahead: arguments of `scoring.trace`."""
        self.subject = subject
        self.prompts = prompts
        self._max_gamma, self._ahead = max_gamma, ahead
        rule = subject.rule
        self._leniences = (rule.lenience,) if isinstance(rule, Lenient) else ()
        self._known: dict[tuple[int, tuple[int, ...]], Trace] = {}

    def of(self, texts: Sequence[Generation]) -> list[Trace]:
        """Returns the trace of each prompt's text."""
        keys = [(prompt, text.tokens) for prompt, text in enumerate(texts)]
        for prompt, tokens in keys:
            if (prompt, tokens) not in self._known:
                found = trace(
                    self.subject,
                    self.prompts[prompt],
                    tokens,
                    max_gamma=self._max_gamma,
                    leniences=self._leniences,
                    ahead=self._ahead,
                )
                judged = verification_of(self.subject.rule) or "token"
                self._known[prompt, tokens] = found.judged(judged, max(self._max_gamma, 1))
        return [self._known[key] for key in keys]

    def alpha(self, texts: Sequence[Generation]) -> float:
        """Returns the acceptance rate along the texts under the subject's rule."""
        traces = self.of(texts)
        return lenient_alpha(traces, *self._leniences) if self._leniences else alpha(traces)

    def tie_gap(self, own: Runs, arm: str) -> float | None:
        """Returns the largest logit gap where a greedy arm first differs from the baseline."""
        penalty = self.subject.sampling.repetition_penalty
        gaps = [
            tie_gap(self.subject.target, prompt, plain.tokens, tokens, repetition_penalty=penalty)
            for prompt, [plain, *_], runs in zip(self.prompts, own[BASELINE], own[arm], strict=True)
            for tokens in {run.tokens for run in runs} - {plain.tokens}
        ]
        return max(gaps, default=None)


def tie_gap(
    target: Model,
    prompt: Sequence[int],
    own: Sequence[int],
    other: Sequence[int],
    *,
    repetition_penalty: float,
) -> float:
    """Returns the target's logit gap at the first difference of two greedy texts.

    Verifying several tokens at once differs from one-token steps in the last bits. In half
    precision that can change the greedy choice between nearly equal logits.
    """
    common = next(at for at, (a, b) in enumerate(zip(own, other, strict=False)) if a != b)
    text = target.start(prompt)
    feed = torch.tensor([text[-1], *own[:common]], device=target.device)
    logits = target.extend(feed)[-1:].double()
    plain = Sampling(temperature=0, repetition_penalty=repetition_penalty)
    law = plain.laws(logits, [*text, *own[:common]])
    assert isinstance(law, OneHot)
    assert law.logits is not None
    pair = law.logits[0, [own[common], other[common]]]
    return abs(float(pair[0] - pair[1]))


@torch.inference_mode()
def log_likelihoods(
    model: Model, prompt: Sequence[int], continuation: Sequence[int]
) -> NDArray[np.float64]:
    """Returns ln p(x) of each token of a continuation at temperature 1, shape (tokens,), in nats.

    prompt, continuation: ids; the continuation has at least 1.
    """
    [p] = text_laws(model, model.start(prompt), continuation, [Sampling()])
    tokens = torch.tensor(continuation, device=p.device)
    return np.asarray(p.of(tokens).double().log().cpu().numpy())


@torch.inference_mode()
def overlaps(
    large: Model,
    small: Model,
    prompt: Sequence[int],
    continuation: Sequence[int],
    sampling: Sampling,
) -> NDArray[np.float64]:
    """Returns beta = sum min(p, q) of two models at each token of a continuation, shape (tokens,).

    prompt, continuation: ids; the continuation has at least 1.
    """
    [p], [q] = (
        text_laws(model, model.start(prompt), continuation, [sampling]) for model in (large, small)
    )
    return np.asarray(overlap(p, q).double().clamp(max=1.0).cpu().numpy())
