"""Reads numbers that servers print: in JSON objects, and on metrics pages in Prometheus' format."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from engines.counting import Counts, Timed, times
from engines.observing.observation import Observation

_DRAFTS = "spec_decode_num_drafts"
_DRAFTED = "spec_decode_num_draft_tokens"
_BY_POSITION = "spec_decode_num_accepted_tokens_per_pos"


def number(printed: Mapping[str, Any], name: str) -> float:
    """Returns the number under a key of a JSON object, at least 0; 0 if it is null or missing."""
    value = printed.get(name)
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}")
    return float(value)


def whole_number(printed: Mapping[str, Any], name: str) -> int:
    """Returns a count in a JSON object; refuses values other than whole numbers of at least 0."""
    value = printed.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}")
    return value


def text_of(printed: Mapping[str, Any], name: str) -> str | None:
    """Returns the string under a key of a JSON object; None if it is missing or no string."""
    value = printed.get(name)
    return value if isinstance(value, str) else None


def timed_bench(result: Mapping[str, Any]) -> Timed | None:
    """Returns the times in the result of `vllm bench serve` or SGLang's `bench_serving`.

    The time per token is the mean over requests, or the median if the result has no mean. Returns
    None if it has neither.
    """
    milliseconds = number(result, "mean_tpot_ms") or number(result, "median_tpot_ms")
    # One token stands for all where a result does not count them.
    tokens = max(1, emitted_by_bench(result) or 1)
    batch = result.get("max_concurrency")
    return times(milliseconds / 1e3 * tokens, tokens, batch if isinstance(batch, int) else None)


def emitted_by_bench(result: Mapping[str, Any]) -> int | None:
    """Returns a bench's tokens without the first token of each request; None if not counted."""
    tokens, requests = result.get("total_output_tokens"), result.get("completed")
    return tokens - requests if isinstance(tokens, int) and isinstance(requests, int) else None


class MetricsPage:
    """The numbers of one engine on a metrics page. Names lack the engine's prefix and "_total".

    sums: sum of each metric over all of its labels, for example over the server's engines.
    last: last value of each metric.
    positions: sums of a metric by position of a drafted token; the first position is 0.
    model: name of the served model; None if the page names none or several.
    began: times at which counters of drafts began, in seconds since 1970.
    """

    def __init__(self, text: str, prefix: str) -> None:
        """Reads the page; prefix: how all names of the engine's metrics begin."""
        self.prefix, self.began, models = prefix, list[float](), set[str]()
        self.sums, self.last = defaultdict[str, float](float), dict[str, float]()
        self.positions = defaultdict[str, Counter[int]](Counter)
        families = text_string_to_metric_families(text)
        for sample in chain.from_iterable(family.samples for family in families):
            if not sample.name.startswith(prefix):
                continue
            name = sample.name.removeprefix(prefix).removesuffix("_total")
            self.sums[name] += sample.value
            self.last[name] = sample.value
            models.update(filter(None, [sample.labels.get("model_name")]))
            position = sample.labels.get("position", sample.labels.get("token_position"))
            if position is not None:
                self.positions[name][int(position)] += round(sample.value)
            if name == f"{_DRAFTS}_created":
                self.began.append(sample.value)
        self.model = models.pop() if len(models) == 1 else None

    def counts(self, turns_on: str) -> Counts:
        """Returns the counts of drafts of vLLM or llama.cpp; refuses a page without counts.

        turns_on: the flag that turns speculation on, for the message.
        """
        for name in (_DRAFTS, _DRAFTED):
            if name not in self.sums:
                raise ValueError(
                    f"metrics must have {self.prefix}{name}, got none: speculation is off; "
                    f"{turns_on} turns it on"
                )
        by_position = self.by_position(_BY_POSITION)
        return Counts.of(round(self.sums[_DRAFTS]), round(self.sums[_DRAFTED]), by_position)

    def by_position(self, name: str) -> tuple[int, ...]:
        """Returns a metric's sums at positions 0, 1, …, up to the last position that it lists."""
        values = self.positions[name]
        return tuple(values[position] for position in range(max(values, default=-1) + 1))

    def observed(
        self, gamma: int | None, timed: Timed | None, *, kind: str, turns_on: str, lists_all: bool
    ) -> Observation:
        """Returns the page's counts of drafts since the server's start, together with `timed`.

        gamma: drafted tokens per block as the user states it; 0: no drafts; None: not stated.
        lists_all: whether the page lists all γ positions, or only positions that were accepted.
        """
        plain = Observation(kind=kind, origin="metrics", timed=timed)
        if gamma == 0 and _DRAFTS not in self.sums:
            return plain
        counts = self.counts(turns_on)
        return replace(
            plain,
            **vars(counts),
            stated_gamma=len(counts.by_position) if gamma is None and lists_all else gamma,
            model=self.model,
            began=max(self.began, default=None),
        )
