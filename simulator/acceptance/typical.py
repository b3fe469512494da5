"""Accepted lengths that others published, to plan with before anything was measured."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Literal

from simulator.acceptance.acceptance import Source
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.counted import CountedAcceptance
from simulator.acceptance.rate_prior import workload_spread

# From the table's kinds of draft to the kinds that laws of acceptance know.
DRAFT_CLASSES = {"EAGLE-3": "EAGLE", "MTP": "MTP", "DSpark": "block", "draft model": "model"}
MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class PublishedLengths:
    """Accepted lengths that a source published for a draft, its target and a workload.

    lengths: tokens per target call, by gamma.
    temperature: temperature of the target; None: not stated.
    draft_sampling: "sampled" if the source says that drafts were sampled; None: not stated.
    """

    name: str
    kind: str
    draft: str
    target: str
    workload: str
    lengths: Mapping[int, float]
    source: str
    date: str
    temperature: float | None
    draft_sampling: Literal["sampled"] | None

    @property
    def held(self) -> Source:
        """The conditions for which the lengths hold."""
        return Source(temperature=self.temperature, draft_sampling=self.draft_sampling)


@cache
def published_lengths() -> Mapping[str, PublishedLengths]:
    """Returns all published acceptances, by name."""
    with Path(__file__).with_name("typical.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    by_name = {}
    for row in rows:
        gammas, lengths = row.pop("gammas").split("/"), row.pop("lengths").split("/")
        by_gamma = {int(g): float(length) for g, length in zip(gammas, lengths, strict=True)}
        heat, drafts = row.pop("temperature"), row.pop("draft_sampling")
        by_name[row["name"]] = PublishedLengths(
            **row,
            lengths=by_gamma,
            temperature=float(heat) if heat else None,
            draft_sampling="sampled" if drafts == "sampled" else None,
        )
    return by_name


def nearest(name: str) -> list[str]:
    """Returns names like `name`: those with all its parts, or else similar ones; at most four.

    The parts are what hyphens separate: eagle3-llama-8b has three.
    """
    parts = set(name.lower().split("-"))
    known = published_lengths()
    with_all = [name for name in known if parts <= set(name.split("-"))]
    return with_all[:MOST_NAMED] or get_close_matches(name.lower(), known, MOST_NAMED)


class Typical(CountedAcceptance):
    """Published accepted lengths, by a name that `specplan plan --typical list` prints.

    published: the lengths, with their draft and target.
    """

    published: PublishedLengths

    def __init__(self, name: str) -> None:
        known = published_lengths()
        if name not in known:
            near = ", ".join(nearest(name)) or "specplan plan --typical list names all"
            raise ValueError(f"`typical` must be a known name ({near}), got {name!r}")
        chosen = known[name]
        lengths = ", ".join(f"{length:g} at gamma {g}" for g, length in chosen.lengths.items())
        note = (
            f"Typical: {chosen.kind} draft {chosen.draft} for {chosen.target} on "
            f"{chosen.workload}, {lengths} tokens per target call ({chosen.held.sampling}), "
            f"published by {chosen.source} ({chosen.date}). Yours will differ: measure or observe "
            "it."
        )
        counts = [Accepted(gamma, length) for gamma, length in chosen.lengths.items()]
        draft_class = DRAFT_CLASSES[chosen.kind]
        source = replace(chosen.held, notes=(note,))
        super().__init__(
            counts, draft_class=draft_class, elsewhere=workload_spread(), source=source
        )
        object.__setattr__(self, "published", chosen)

    def for_draft(self, draft_class: str | None) -> CountedAcceptance:
        return self if draft_class is None else super().for_draft(draft_class)
