"""Metrics pages that have the counters of vLLM and llama.cpp (`engines.counting`)."""

from collections import defaultdict
from collections.abc import Callable, Mapping

from engines.counting import DRAFTS, counters, samples
from engines.observing.observation import Observation
from engines.observing.timing import Timed


def observed_page(
    page: str,
    *,
    kind: str,
    prefix: str,
    turns_on: str,
    gamma: int | None,
    lists_all: bool,
    timed: Callable[[Mapping[str, float]], Timed | None],
) -> Observation:
    """Returns the counts and times on a metrics page since the server's start.

    Args:
      gamma: drafted tokens per block as the user states it; 0: no drafts; None: not stated.
      lists_all: whether the page lists all γ positions; if not, it lists only accepted positions.
      timed: maps the page's sums, by name without prefix and "_total", to the time of its tokens.
    """
    models, began = set(), []
    totals: dict[str, float] = defaultdict(float)
    for sample in samples(page, prefix):
        totals[sample.name.removesuffix("_total")] += sample.value
        if sample.name.startswith(DRAFTS):
            models.add(sample.labels.get("model_name"))
            if sample.name.endswith("_created"):
                began.append(sample.value)
    if gamma == 0 and DRAFTS not in totals:
        return Observation(kind=kind, origin="metrics", timed=timed(totals))
    counts = counters(page, prefix=prefix, turns_on=turns_on)
    if gamma is None and lists_all:
        gamma = len(counts.by_position)
    return Observation(
        **vars(counts),
        kind=kind,
        origin="metrics",
        stated_gamma=gamma,
        model=models.pop() if len(models) == 1 else None,
        began=max(began, default=None),
        timed=timed(totals),
    )
