"""Traces of the texts that a validation's runs produced."""

from collections.abc import Sequence

from estimator.timing.rates import BASELINE, Runs
from estimator.traces.scoring import trace, verification_of
from estimator.traces.text_laws import tie_gap
from estimator.traces.traces import Trace, alpha, lenient_alpha
from reference.records import Generation
from reference.rules.rule import Lenient
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
        return [self._trace(prompt, text.tokens) for prompt, text in enumerate(texts)]

    def _trace(self, prompt: int, tokens: tuple[int, ...]) -> Trace:
        key = (prompt, tokens)
        if key not in self._known:
            found = trace(
                self.subject,
                self.prompts[prompt],
                tokens,
                max_gamma=self._max_gamma,
                leniences=self._leniences,
                ahead=self._ahead,
            )
            judged = verification_of(self.subject.rule) or "token"
            self._known[key] = found.judged(judged, max(self._max_gamma, 1))
        return self._known[key]

    def alpha(self, texts: Sequence[Generation]) -> float:
        """Returns the acceptance rate along the texts under the subject's rule."""
        traces = self.of(texts)
        return lenient_alpha(traces, *self._leniences) if self._leniences else alpha(traces)

    def tie_gap(self, own: Runs, arm: str) -> float | None:
        """Returns the largest logit gap where a greedy arm first differs from the baseline."""
        parted = {
            (prompt, own[BASELINE][prompt][0].tokens, run.tokens)
            for prompt, row in enumerate(own[arm])
            for run in row
            if run.tokens != own[BASELINE][prompt][0].tokens
        }
        gaps = [
            tie_gap(
                self.subject.target,
                self.prompts[prompt],
                expected,
                tokens,
                repetition_penalty=self.subject.sampling.repetition_penalty,
            )
            for prompt, expected, tokens in parted
        ]
        return max(gaps, default=None)
