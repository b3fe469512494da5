"""Traces of texts that runs produced, and predictions from them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from estimator.intervals import Interval, student
from estimator.timing.batched import Ids, Prompts
from estimator.timing.rates import BASELINE, Noise, Runs
from estimator.traces.scoring import trace, verification_of
from estimator.traces.traces import Trace, alpha, lenient_alpha
from reference.drafter import text_laws
from reference.laws import OneHot, Sampling
from reference.records import Generation
from reference.rules import Lenient
from reference.speculative import Subject
from simulator.cost.cost import Cost

# Enough to know the deviation of a run's seconds to 2 %.
REPLICATES = 2000


@dataclass(frozen=True, slots=True)
class TextTraces:
    """Computes traces of texts, once per text even if several decoders produced it.

    max_gamma, ahead: arguments of `scoring.trace`.
    known: traces computed so far, by the prompt's index and the text's ids.
    """

    subject: Subject
    prompts: Prompts
    max_gamma: int
    ahead: int = 0
    known: dict[tuple[int, tuple[int, ...]], Trace] = field(default_factory=dict)

    def of(self, texts: Sequence[Generation]) -> list[Trace]:
        """Returns the trace of each prompt's text."""
        rule, longest, traces = self.subject.rule, max(self.max_gamma, 1), []
        how: dict[str, Any] = {"max_gamma": self.max_gamma, "ahead": self.ahead}
        how["leniences"] = (rule.lenience,) if isinstance(rule, Lenient) else ()
        for key in enumerate(text.tokens for text in texts):
            if key not in self.known:
                traced = trace(self.subject, self.prompts[key[0]], key[1], **how)
                self.known[key] = traced.judged(verification_of(rule) or "token", longest)
            traces.append(self.known[key])
        return traces

    def alpha(self, texts: Sequence[Generation]) -> float:
        """Returns the acceptance rate along the texts, by the acceptance rule in use."""
        traces, rule = self.of(texts), self.subject.rule
        return lenient_alpha(traces, rule.lenience) if isinstance(rule, Lenient) else alpha(traces)

    def tie_gap(self, runs_of: Runs, arm: str) -> float | None:
        """Returns the largest `tie_gap` of a decoder's to the baseline's texts; None if equal."""
        gaps = [
            tie_gap(self.subject, prompt, plain.tokens, tokens)
            for prompt, [plain, *_], runs in zip(
                self.prompts, runs_of[BASELINE], runs_of[arm], strict=True
            )
            for tokens in {run.tokens for run in runs} - {plain.tokens}
        ]
        return max(gaps, default=None)


@torch.inference_mode()
def tie_gap(subject: Subject, prompt: Ids, tokens: Ids, other: Ids) -> float:
    """Returns the target's logit difference between the first tokens in which two texts differ.

    Both texts are greedy. Verifying several tokens at once rounds differently from one-token steps,
    which can change the greedy choice between nearly equal logits.
    """
    common = next(at for at, (a, b) in enumerate(zip(tokens, other, strict=False)) if a != b)
    penalty = subject.sampling.repetition_penalty
    plain = Sampling(temperature=0, repetition_penalty=penalty)
    [law] = text_laws(subject.target, subject.target.start(prompt), tokens[: common + 1], [plain])
    assert isinstance(law, OneHot)
    assert law.logits is not None
    first, second = law.logits[common, [tokens[common], other[common]]].double().tolist()
    return float(abs(first - second))


def replay_factor(traces: Sequence[Trace], gamma: int, cost: Cost) -> float:
    """Returns the baseline's seconds for all texts over the seconds that replay predicts at γ."""
    base = cost.baseline_seconds * sum(trace.tokens for trace in traces)
    return base / sum(trace.replay.seconds(gamma, cost) for trace in traces)


def simulated_seconds(
    trace: Trace, gamma: int, cost: Cost, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Returns the simulated seconds of decoding the text with random acceptances, (REPLICATES,)."""
    prices = cost.block_seconds(np.arange(gamma + 1))
    lengths = trace.replay.lengths(gamma)
    drafted = np.arange(gamma) < lengths[:, None]
    odds = np.where(drafted, trace.by_start(gamma), 0.0)
    position = np.zeros(REPLICATES, dtype=np.int64)
    seconds = np.zeros(REPLICATES)
    while (active := position < trace.tokens).any():
        start = position[active]
        accepts = generator.random((len(start), gamma)) < odds[start]
        seconds[active] += prices[lengths[start]]
        position[active] += accepts.cumprod(axis=1).sum(axis=1) + 1
    return seconds


def ahead_interval(
    texts: Sequence[tuple[Trace, Trace]],
    gamma: int,
    cost: Cost,
    *,
    noise: Noise,
    generator: np.random.Generator,
) -> Interval:
    """Returns the interval in which a run's measured speed-up on these prompts is expected.

    The variance of log(measured / predicted) is the sum of three variances:

        texts: Σ e_i² (1 + 1/2), where 1 is for the run's text and 1/2 for the mean of two texts,
          which predicts it. e_i is a text's deviation from its prompt's mean time, relative to the
          time of all texts, estimated from the two texts
        acceptances in the run: simulated along the first text of each prompt
        clock: twice the variance of `noise`, because measured and predicted speed-up each have
          the error of two timed runs

    The interval uses Student's t with Welch's degrees of freedom.

    texts: traces of two independent texts for each prompt. One prompt gives (None, None).
    """
    if len(texts) < 2:
        return None, None
    seconds = np.array([[trace.replay.seconds(gamma, cost) for trace in pair] for pair in texts])
    base = cost.baseline_seconds * np.array([[trace.tokens for trace in pair] for pair in texts])
    factor = float(base.sum() / seconds.sum())
    expected = float(seconds[:, 0].sum())
    # Difference of a prompt's two texts, in seconds of the first's length; each deviates by 1/√2.
    apart = seconds[:, 0] - seconds[:, 1] * base[:, 0] / base[:, 1]
    text_luck = (1 + 1 / 2) * float((apart**2 / 2).sum()) / expected**2
    drawn = sum(simulated_seconds(first, gamma, cost, generator) for first, _ in texts)
    acceptance_luck = float(np.var(drawn)) / expected**2
    clock = 2 * noise.error**2
    whole = text_luck + acceptance_luck + clock
    if whole == 0:
        return factor, factor
    estimated = text_luck**2 / len(texts) + clock**2 / noise.prompts
    degrees = whole**2 / estimated if estimated > 0 else np.inf
    reach = float(np.exp(student(degrees) * np.sqrt(whole)))
    return factor / reach, factor * reach
