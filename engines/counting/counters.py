"""The speculation counters of a server's metrics page, summed over the engines behind it.

vLLM and llama.cpp count the same four things under one name each and a prefix of their own; vLLM's
positions begin at 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from engines.counting.counts import Counts

DRAFTS = "spec_decode_num_drafts"
DRAFTED = "spec_decode_num_draft_tokens"
BY_POSITION = "spec_decode_num_accepted_tokens_per_pos"


@dataclass(frozen=True, slots=True)
class Sample:
    """A number of a metrics page, its name without the engine's prefix."""

    name: str
    labels: Mapping[str, str]
    value: float


def samples(page: str, prefix: str) -> Iterator[Sample]:
    """Gives the numbers of a page in Prometheus' text format whose names have a prefix.

    Raises:
      ValueError: if the page is no metrics page.
    """
    from prometheus_client.parser import text_string_to_metric_families

    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            engine, _, name = sample.name.partition(":")
            if engine == prefix:
                yield Sample(name, sample.labels, sample.value)


def counters(page: str, *, prefix: str, turns_on: str) -> Counts:
    """Returns what a metrics page counts since the server started.

    Args:
      page: in Prometheus' text format.
      prefix: of the engine's metrics, without the colon.
      turns_on: what would turn speculation on, for the message.

    Raises:
      ValueError: if a metric is missing, since speculation is off, or the page is no metrics page.
    """
    totals: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for sample in samples(page, prefix):
        name = sample.name.removesuffix("_total")
        if name in (DRAFTS, DRAFTED, BY_POSITION):
            position = int(sample.labels.get("position", "0"))
            totals[name][position] += round(sample.value)
    for name in (DRAFTS, DRAFTED):
        if name not in totals:
            raise ValueError(
                f"metrics must have {prefix}:{name}, got none: speculation is off; {turns_on} "
                "turns it on"
            )
    by_position = totals[BY_POSITION]
    positions = range(max(by_position, default=-1) + 1)
    return Counts.of(totals[DRAFTS][0], totals[DRAFTED][0], [by_position[i] for i in positions])
