"""Drift: whether a server's acceptance differs from what was expected of it, and where."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engines.observing.alphas import RequestCounts
from engines.observing.observation import Observation
from simulator.acceptance.accepted import ALIKE, Accepted
from simulator.numerics.intervals import deviations


@dataclass(frozen=True, slots=True)
class Expected:
    """The acceptance that a server is expected to have.

    lengths: mean tokens per target call by γ; key 0: at any γ.
    rates: share of all blocks that accept positions 1, 2, …; empty: not known.
    drafts: number of blocks from which it was measured; None: it is taken as exact.
    categories: mean tokens per target call by category of requests.
    """

    lengths: Mapping[int, float]
    rates: tuple[float, ...] = ()
    drafts: float | None = None
    categories: Mapping[str, float] = field(default_factory=dict)

    def at(self, gamma: int) -> float:
        """Returns the expected length at γ; refuses a γ for which none is known."""
        if 0 in self.lengths:
            if self.lengths[0] > gamma + 1:
                raise ValueError(
                    f"`expect` must state a length of at most {gamma + 1}, gamma + 1, got "
                    f"{self.lengths[0]:g}"
                )
            return self.lengths[0]
        if gamma <= len(self.rates):
            return 1 + sum(self.rates[:gamma])
        if gamma not in self.lengths:
            known = ", ".join(map(str, self.lengths)) or f"1 to {len(self.rates)}"
            raise ValueError(f"`expect` must know a length at gamma {gamma}, got gamma {known}")
        return self.lengths[gamma]


class Moved(NamedTuple):
    """A position or category, its expected rate or length, and what was observed."""

    name: str
    expected: float
    observed: float


class Drift(NamedTuple):
    """An observed length and the expected length.

    found: whether the interval [low, high] of the observed length excludes the expected one.
    moved: positions and categories that differ by more than chance.
    """

    expected: float
    length: float
    low: float
    high: float
    found: bool
    moved: tuple[Moved, ...]


def drift(observation: Observation, expected: Expected) -> Drift:
    """Returns the observed acceptance compared with the expected acceptance.

    The interval contains the errors of both, if the expected one was measured, too.
    """
    gamma, counted = observation.gamma, observation.counted
    length, wanted = observation.block_efficiency, expected.at(gamma)
    variance = counted.noise()[-1, -1]
    if expected.drafts is not None:
        variance += Accepted(gamma, wanted, drafts=expected.drafts).noise()[-1, -1]
    reach = deviations() * math.sqrt(variance)
    low, high = length * math.exp(-reach), length * math.exp(reach)
    rates = tuple(hits / observation.drafts for hits in observation.hits)
    positions = zip(expected.rates, rates, strict=False)
    moved = [
        Moved(f"position {at}", before, now)
        for at, (before, now) in enumerate(positions, start=1)
        if _differ(before, now, observation.drafts, expected.drafts)
    ]
    moved += _moved_categories(observation.requests, expected.categories, gamma)
    return Drift(wanted, length, low, high, not low <= wanted <= high, tuple(moved))


def read_expected(text: str, document: str | None = None) -> Expected:
    """Returns the acceptance that a text states: length=2.85, or rates=0.8/0.6/0.4.

    document: the content of the file that the text names; None: it is no file. The file is a
    profile, or the JSON of `plan` or of an earlier `observe`.
    """
    if document is not None:
        return _of_document(json.loads(document))
    key, _, value = text.partition("=")
    try:
        numbers = tuple(float(part) for part in value.split("/"))
    except ValueError:
        numbers = ()
    if key == "length" and len(numbers) == 1 and numbers[0] >= 1:
        return Expected({0: numbers[0]})
    if key == "rates" and numbers and all(0 <= number <= 1 for number in numbers):
        return Expected({}, numbers)
    raise ValueError(
        f"must be length=L (at least 1), rates=R/R/... or a file (profile, plan --json, observe "
        f"--json), got {text!r}"
    )


def _of_document(document: Any) -> Expected:
    if isinstance(document, dict) and "draftings" in document:  # a profile
        way = document["draftings"][document["draft_sampling"]]
        rates = _values(way.get("accepted_by_position"))
        tokens = way["alpha"].get("tokens")
        return Expected({}, rates, None if not tokens or not rates else tokens / len(rates))
    if isinstance(document, dict) and "block_efficiency" in document:  # observe
        lengths = {document["gamma"]: document["block_efficiency"]}
        rates = _values(document.get("accepted_by_position"))
        return Expected(lengths, rates, document["drafts"], _by_category(document.get("requests")))
    if isinstance(document, dict) and "curve" in document:  # plan
        return Expected({row["gamma"]: row["expected_tokens"] for row in document["curve"]})
    raise ValueError("must be a profile, or the JSON of plan or observe, got another file")


def _values(printed: Sequence[Mapping[str, float]] | None) -> tuple[float, ...]:
    return tuple(rate["value"] for rate in printed or ())


def _by_category(requests: Sequence[Mapping[str, Any]] | None) -> dict[str, float]:
    sums: dict[str, list[float]] = {}
    for request in requests or ():
        if request["category"] is not None:
            one = sums.setdefault(request["category"], [0, 0])
            one[0] += request["drafts"]
            one[1] += request["accepted"]
    return {name: 1 + accepted / drafts for name, (drafts, accepted) in sums.items()}


def _moved_categories(
    requests: Sequence[RequestCounts], categories: Mapping[str, float], gamma: int
) -> list[Moved]:
    moved = []
    for name, wanted in categories.items():
        in_category = [request for request in requests if request.category == name]
        drafts, accepted = sum(e.drafts for e in in_category), sum(e.accepted for e in in_category)
        if drafts > 0:
            counted = Accepted(gamma, 1 + accepted / drafts, drafts=drafts)
            error = deviations() * math.sqrt(counted.noise()[-1, -1])
            if abs(math.log(counted.length / wanted)) > error:
                moved.append(Moved(f"category {name}", wanted, counted.length))
    return moved


def _differ(before: float, now: float, drafts: float, earlier: float | None) -> bool:
    """Returns whether two rates differ by more than chance; earlier: drafts of the first."""
    weight = 1 / drafts + (0 if earlier is None else 1 / earlier)
    mean = (before + now) / 2
    return abs(now - before) > deviations() * math.sqrt(ALIKE * mean * (1 - mean) * weight)
