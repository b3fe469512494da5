"""Metrics pages in Prometheus' format: their numbers, and the counters of vLLM and llama.cpp."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from engines.counting import Counts
from engines.observing.observation import Observation
from engines.observing.printed import Timed

if TYPE_CHECKING:
    from prometheus_client.samples import Sample

_DRAFTS = "spec_decode_num_drafts"
_DRAFTED = "spec_decode_num_draft_tokens"
_BY_POSITION = "spec_decode_num_accepted_tokens_per_pos"


def samples(page: str, prefix: str) -> Iterator[Sample]:
    """Yields the samples of a page whose names have a prefix, without the prefix and "_total"."""
    from prometheus_client.parser import text_string_to_metric_families

    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            engine, _, name = sample.name.partition(":")
            if engine == prefix:
                yield sample._replace(name=name.removesuffix("_total"))


def counters(page: str, *, prefix: str, turns_on: str) -> Counts:
    """Returns the counts on a metrics page of vLLM or llama.cpp, summed over its engines.

    turns_on: the flag that turns speculation on, for the message if its metrics are missing.
    """
    totals: dict[str, int] = defaultdict(int)
    hits: dict[int, int] = defaultdict(int)
    for sample in samples(page, prefix):
        if sample.name == _BY_POSITION:
            hits[int(sample.labels.get("position", "0"))] += round(sample.value)
        elif sample.name in (_DRAFTS, _DRAFTED):
            totals[sample.name] += round(sample.value)
    for name in (_DRAFTS, _DRAFTED):
        if name not in totals:
            raise ValueError(
                f"metrics must have {prefix}:{name}, got none: speculation is off; {turns_on} "
                "turns it on"
            )
    by_position = [hits[position] for position in range(max(hits, default=-1) + 1)]
    return Counts.of(totals[_DRAFTS], totals[_DRAFTED], by_position)


def observed_page(
    page: str,
    gamma: int | None,
    *,
    kind: str,
    turns_on: str,
    lists_all: bool,
    timed: Callable[[Mapping[str, float]], Timed | None],
) -> Observation:
    """Returns the counts and times on vLLM's or llama.cpp's metrics page since the server's start.

    Args:
      gamma: drafted tokens per block as the user states it; 0: no drafts; None: not stated.
      lists_all: whether the page lists all γ positions; if not, it lists only accepted positions.
      timed: returns the times between tokens from the page's sums, whose names are without prefix
        and "_total".
    """
    models, began, prefix = set(), [], kind.replace(".", "")
    totals: dict[str, float] = defaultdict(float)
    for sample in samples(page, prefix):
        totals[sample.name] += sample.value
        if sample.name.startswith(_DRAFTS):
            models.add(sample.labels.get("model_name"))
            if sample.name.endswith("_created"):
                began.append(sample.value)
    plain = Observation(kind=kind, origin="metrics", timed=timed(totals))
    if gamma == 0 and _DRAFTS not in totals:
        return plain
    counts = counters(page, prefix=prefix, turns_on=turns_on)
    return replace(
        plain,
        **vars(counts),
        stated_gamma=len(counts.by_position) if gamma is None and lists_all else gamma,
        model=models.pop() if len(models) == 1 else None,
        began=max(began, default=None),
    )
