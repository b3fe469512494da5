"""Metrics pages that have the counters of vLLM and llama.cpp (`engines.counting.counters`)."""

from __future__ import annotations

from engines.counting.counters import DRAFTS, counters, samples
from engines.observing.observation import Observation


def observed_page(
    page: str, *, kind: str, prefix: str, turns_on: str, gamma: int | None, lists_all: bool
) -> Observation:
    """Returns what a metrics page counts since its server started.

    Args:
      page: several engines behind one page are summed.
      kind: the engine's name.
      prefix: of its metrics, without the colon.
      turns_on: what turns speculation on, for the message.
      gamma: drafted tokens per block, where the user says it.
      lists_all: whether every position is listed, so that they tell γ, or those that were accepted
        once.

    Raises:
      ValueError: if speculation is off: which metric is missing, and what turns it on.
    """
    counts = counters(page, prefix=prefix, turns_on=turns_on)
    models, began = set(), []
    for sample in samples(page, prefix):
        if sample.name.startswith(DRAFTS):
            models.add(sample.labels.get("model_name"))
            if sample.name.endswith("_created"):
                began.append(sample.value)
    if gamma is None and lists_all:
        gamma = len(counts.by_position)
    return Observation.of_counts(
        counts,
        kind=kind,
        gamma=gamma,
        model=models.pop() if len(models) == 1 else None,
        began=max(began, default=None),
    )
