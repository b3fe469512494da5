"""Speculative beam search: what a call costs and how many steps it takes.

Leviathan et al. 2023, appendix A.4: a draft searches with u >= w beams for γ steps ahead and the
target checks them in one call over w + uγ tokens; a drafted step stands as long as
top_w(M_p) ⊆ top_u(M_q). With r the probability of that, given that the steps before it stand, a
call takes as many steps as speculative decoding emits tokens: (1 - r^(γ+1)) / (1 - r), Eq. 1 with
r for α.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.tokens import expected_tokens
from simulator.numerics.arguments import integer, integers, non_negative, probability, same_shape


def require_widths(width: ArrayLike, draft_width: ArrayLike) -> None:
    """Refuses a draft narrower than the search.

    Raises:
      ValueError: naming both widths.
    """
    w, u = integers("width", width, at_least=1), integers("draft_width", draft_width, at_least=1)
    same_shape({"width": w, "draft_width": u})
    if (u < w).any():
        w, u = np.broadcast_arrays(w, u)
        first = np.flatnonzero((u < w).ravel())[0]
        raise ValueError(
            f"draft_width must be at least width, {w.flat[first]}, got {u.flat[first]}"
        )


def budget(width: ArrayLike, draft_width: ArrayLike, gamma: ArrayLike) -> NDArray[np.int64]:
    """Returns the tokens that a call of the target reads, w + uγ (A.4).

    Args:
      width: w, at least 1, shape (...); all broadcast.
      draft_width: u, at least w.
      gamma: drafted steps, at least 0.

    Raises:
      ValueError: if an argument is out of range, or u < w.
    """
    require_widths(width, draft_width)
    w, u, steps = (np.asarray(each) for each in (width, draft_width, integers("gamma", gamma)))
    same_shape({"width": w, "draft_width": u, "gamma": steps})
    return np.asarray(w + u * steps)[()]


def steps_per_call(coverage: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    """Returns the mean number of steps of a call.

    Args:
      coverage: r = P(top_w(M_p) ⊆ top_u(M_q)), in [0, 1], shape (...).
      gamma: drafted steps, at least 0; broadcasts.
    """
    return expected_tokens(probability("coverage", coverage), gamma)


def beam_improvement_factor(
    coverage: ArrayLike,
    *,
    width: int,
    draft_width: int,
    gamma: int,
    target_seconds: Callable[[int], float],
    draft_seconds: Callable[[int], float],
) -> NDArray[np.float64]:
    """Returns the speed-up over beam search with the target alone.

        steps_per_call · t_p(w) / (t_p(w + uγ) + t_q(w) + (γ - 1) t_q(u))

    Args:
      coverage: r, shape (...).
      width, draft_width, gamma: as in `budget`, one of each.
      target_seconds, draft_seconds: t_p(n), t_q(n): a pass over n tokens.

    Raises:
      ValueError: if an argument is out of range, or u < w.
    """
    tokens = int(budget(width, draft_width, gamma))
    drafting = 0.0
    if gamma > 0:
        drafting = draft_seconds(width) + (gamma - 1) * draft_seconds(draft_width)
    block = target_seconds(tokens) + drafting
    return np.asarray(steps_per_call(coverage, gamma) * target_seconds(width) / block)[()]


def covers(
    p: ArrayLike, q: ArrayLike, *, width: int, draft_width: int
) -> NDArray[np.bool_]:
    """Returns whether the target's w best continuations are among the draft's u best.

    Args:
      p, q: scores of the same continuations under both models, shape (..., continuations).
      width: w, at least 1.
      draft_width: u, at least w, at most the continuations.

    Raises:
      ValueError: if an argument is out of range, or u < w.
    """
    require_widths(width, draft_width)
    target, draft = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    same_shape({"p": target, "q": draft})
    if target.shape[-1] < draft_width:
        raise ValueError(
            f"draft_width must be at most the {target.shape[-1]} continuations, got {draft_width}"
        )
    best = np.argpartition(-target, width - 1, axis=-1)[..., :width]
    least = np.sort(draft, axis=-1)[..., -draft_width]
    return np.asarray((np.take_along_axis(draft, best, -1) >= least[..., None]).all(-1))[()]


def simulate_coverage(
    *,
    width: int,
    draft_width: int,
    continuations: int,
    spread: float,
    noise: float,
    draws: int,
    generator: np.random.Generator,
) -> float:
    """Returns the share of random steps at which top_w(M_p) ⊆ top_u(M_q).

    The target's scores of continuations are normal, the draft's those and normal noise: no law of
    a token's acceptance tells how often sets of best continuations agree, so they are drawn.

    Args:
      width, draft_width: w and u >= w.
      continuations: to choose among, at least u.
      spread: standard deviation of the target's scores, in nats.
      noise: that of what the draft's differ by.
      draws: steps, at least 1.
      generator: source of randomness; it is advanced.

    Raises:
      ValueError: if an argument is out of range.
    """
    shape = (integer("draws", draws, at_least=1), integer("continuations", continuations))
    p = float(non_negative("spread", spread)) * generator.normal(size=shape)
    q = p + float(non_negative("noise", noise)) * generator.normal(size=shape)
    return float(covers(p, q, width=width, draft_width=draft_width).mean())
