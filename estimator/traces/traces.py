"""Traces: how well a drafter would have done along texts that the target generated.

A trace answers every gamma by replay (`simulator.acceptance.replay`), with no i.i.d. assumption.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reference.drafter import Drafter
from reference.drafters.model_drafter import text_laws
from reference.laws.laws import Dense, Laws
from reference.laws.sampling import Sampling
from reference.laws.scoring import Scores
from reference.models.model import Model
from simulator.acceptance.replay import expected_calls

LENIENCES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


@dataclass(frozen=True, slots=True)
class Trace:
    """Acceptance along one text of N tokens, as `reference.laws.scoring.Scores` defines it.

    beta: shape (N,).
    acceptance: shape (N,) or, where the draft depends on the block's start, (N, K).
    drafted: shape (N,) in that case, else None.
    limit: the most tokens that the text could have had; N unless the text ended by itself.
    alpha_by_lenience: mean of sum min(p/l, q) by lenience l (Leviathan et al. 2023, A.5), for
      those asked for.
    """

    beta: NDArray[np.float64]
    acceptance: NDArray[np.float64]
    drafted: NDArray[np.int64] | None
    limit: int
    alpha_by_lenience: Mapping[float, float] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """N, the text's length."""
        return len(self.beta)


def trace(
    target: Model,
    drafter: Drafter,
    prompt: Sequence[int],
    continuation: Sequence[int],
    *,
    sampling: Sampling,
    limit: int,
    max_gamma: int,
    leniences: Sequence[float] = (),
) -> Trace:
    """Returns a drafter's trace along a text that the target generated from prompt.

    Each model scores the whole text in one parallel pass.

    Args:
      target: M_p.
      drafter: with M_q or whatever takes its place.
      prompt: ids.
      continuation: ids sampled from the target under `sampling`, at least 1.
      sampling: makes the target's laws.
      limit: max_new_tokens of the run that made the continuation.
      max_gamma: the longest draft that replay will be asked about.
      leniences: the l whose alpha(l) is wanted, each in (0, 1].
    """
    text = target.start(prompt)
    p = text_laws(target, text, continuation, sampling)
    scores = drafter.score(prompt, text, continuation, p, max_gamma)
    by_lenience = {}
    for lenience in leniences:
        lenient = drafter.score(prompt, text, continuation, raised(p, lenience), max_gamma)
        by_lenience[lenience] = float(_beta(lenient).mean())
    return Trace(
        beta=_beta(scores),
        acceptance=scores.acceptance.numpy(),
        drafted=None if scores.drafted is None else scores.drafted.numpy(),
        limit=limit,
        alpha_by_lenience=by_lenience,
    )


def _beta(scores: Scores) -> NDArray[np.float64]:
    """Returns beta without what the rounding of a row's sum adds beyond 1."""
    beta: NDArray[np.float64] = scores.beta.clamp(max=1.0).numpy()
    return beta


def raised(p: Laws, lenience: float) -> Dense:
    """Returns the rows r for which sum min(r, q) is the acceptance probability under lenience l.

    They are p/l, cut to 1, above which no q is. At temperature 0 they are 1 for every token that
    lenience keeps, those with p(x) >= l max p, and 0 for the others. (Leviathan et al. 2023, A.5)

    Args:
      p: the target's laws; one-hot ones with the logits behind them.
      lenience: l in (0, 1].
    """
    if isinstance(p, Dense):
        return Dense((p.probabilities / lenience).clamp(max=1.0))
    hidden = p.at_temperature_one()
    assert hidden is not None
    probabilities = hidden.probabilities
    least = lenience * probabilities.amax(dim=-1, keepdim=True)
    return Dense((probabilities >= least).to(probabilities.dtype))


def lenient_alpha(traces: Sequence[Trace], lenience: float) -> float:
    """Returns the mean of alpha(l) over the tokens of all texts."""
    values = [trace.alpha_by_lenience[lenience] for trace in traces]
    return float(np.average(values, weights=[trace.tokens for trace in traces]))


def alpha(traces: Sequence[Trace]) -> float:
    """Returns the mean of beta over the tokens of all texts (Leviathan et al. 2023, Cor. 6).

    A mean over tokens: long texts weigh more than short ones.
    """
    return float(np.concatenate([trace.beta for trace in traces]).mean())


def replayed_calls(trace: Trace, gamma: int) -> float:
    """Returns the expected target calls of decoding the text speculatively."""
    return float(
        expected_calls(trace.acceptance, gamma, limit=trace.limit, drafted=trace.drafted)
    )


def block_efficiency(traces: Sequence[Trace], gamma: int) -> float:
    """Returns emitted tokens per expected target call, over all texts."""
    calls = sum(replayed_calls(trace, gamma) for trace in traces)
    return sum(trace.tokens for trace in traces) / calls
