"""Compares a server's controller with fixed drafts: sentences, JSON, and the controller's flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from engines.kind import engine_kinds
from simulator.choice.controlled import Controlled, ControllerGain, pays_from
from specplan.reports.lengths import listed
from specplan.reports.table import folded


class ControllerReport:
    """The gains of a controller, as text and JSON. It prints as the sentences of `specplan plan`.

    gains: the gains by batch size. server: the server whose flags are shown; None: all.
    """

    def __init__(self, gains: Controlled, server: str | None) -> None:
        self._gains, self._server = gains, server

    def json(self) -> dict[str, Any]:
        """Returns the gains by batch size, where they begin, and the flags by server."""
        ways = {"one_k": self._gains.over_one, "schedule": self._gains.over_schedule}
        return {
            **{f"over_{way}": [_fields(gain) for gain in gains] for way, gains in ways.items()},
            "pays_from": {way: pays_from(gains) for way, gains in ways.items()},
            "flags": self.flags,
        }

    def __str__(self) -> str:
        return "\n".join(map(folded, self.lines()))

    def added(
        self, data: Callable[[], Mapping[str, Any]], text: Callable[[], str]
    ) -> tuple[Callable[[], Mapping[str, Any]], Callable[[], str], str]:
        """Returns functions that write a plan with the comparison, and a comment for flags."""
        lines = str(self)
        return (
            lambda: {**data(), "controller": self.json()},
            lambda: f"{text()}\n\n{lines}",
            "".join(f"# {line}\n" for line in lines.splitlines()),
        )

    @property
    def flags(self) -> dict[str, str]:
        """Flags that let a server choose K, by server: the stated server, or all."""
        kinds = engine_kinds().values()
        known = {kind.name: kind.exports.controller for kind in kinds if kind.exports}
        return {
            name: flags for name, flags in known.items() if flags and self._server in (None, name)
        }

    def lines(self) -> list[str]:
        """Returns a sentence for each comparison, and the flags if the controller ever gains."""
        one, schedule = self._gains.over_one, self._gains.over_schedule
        fixed = f"K = {one[0].gamma}, the best fixed K" if one[0].gamma else "no speculation"
        lines = [
            f"The server's controller {_when(one)} over {fixed}: {_ends(one)}.",
            f"Over the advised schedule ({_schedule(schedule)}) it {_when(schedule)}: "
            f"{_ends(schedule)}.",
        ]
        if not all(gain.measured for gain in (*one, *schedule)):
            lines.append("Times of a K that was not run at a batch size are modelled.")
        if any(gain.ratio > 1 for gain in (*one, *schedule)):
            lines += [f"Its flags on {name}: {flags}" for name, flags in self.flags.items()]
        return lines


def _fields(gain: ControllerGain) -> dict[str, Any]:
    low, middle, high = (100 * (end - 1) for end in (gain.low, gain.ratio, gain.high))
    return {
        "batch": gain.batch, "gamma": gain.gamma, "gain_percent": middle, "low": low, "high": high,
        "measured": gain.measured,
    }  # fmt: skip


def _when(gains: Sequence[ControllerGain]) -> str:
    batch = pays_from(gains)
    if batch is None:
        return f"does not pay at batch {gains[-1].batch}" + " or below" * (len(gains) > 1)
    if batch == gains[0].batch:
        return f"pays at batch {batch}" + " and above" * (len(gains) > 1)
    return f"pays from batch {batch} on"


def _ends(gains: Sequence[ControllerGain]) -> str:
    """Returns the largest and the smallest gain with their intervals, the larger batch first."""
    chosen = {choose(gains, key=lambda gain: gain.ratio) for choose in (max, min)}
    return " and ".join(
        f"{100 * (gain.ratio - 1):+.1f} % ({100 * (gain.low - 1):+.1f} to "
        f"{100 * (gain.high - 1):+.1f}) at batch {gain.batch}"
        for gain in sorted(chosen, key=lambda gain: -gain.batch)
    )


def _schedule(gains: Sequence[ControllerGain]) -> str:
    ranges = [
        (some[0].batch, some[-1].batch, gamma)
        for gamma, group in groupby(gains, lambda gain: gain.gamma)
        for some in [list(group)]
    ]
    return listed(ranges, "batch")
