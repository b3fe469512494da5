"""Machines of published measurements that differ from today's servers, and one that is quick."""

from __future__ import annotations

from typing import Any

from simulator.cost.machine import Drafting, LoadPoint, Machine
from simulator.cost.parameters import PARAMETERS, Work
from simulator.cost.served import Served


class Remembered(Machine):
    """A deployment whose works are computed once."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._works: dict[tuple[Any, ...], Work] = {}

    def plain_work(self, load: LoadPoint) -> Work:
        return self._work("plain_work", load)

    def prompt_work(self, load: LoadPoint) -> Work:
        return self._work("prompt_work", load)

    def drafting_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        return self._work("drafting_work", load, drafting)

    def checking_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        return self._work("checking_work", load, drafting)

    def _work(self, *asked: Any) -> Work:
        if asked not in self._works:
            self._works[asked] = getattr(self._machine, asked[0])(*asked[1:])
        return self._works[asked]


class BatchExpanding(Served):
    """vLLM V0: every drafted token of a sequence is scored as a sequence of its own.

    Each reads the whole cache again, as its paged attention for one token does, so what the prior
    calls "recache" is reading the cache itself.
    """

    def checking_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        work = super().checking_work(load, drafting)
        amounts = work.amounts.copy()
        amounts[PARAMETERS.index("cache")] += amounts[PARAMETERS.index("recache")]
        amounts[PARAMETERS.index("recache")] = 0
        return Work(amounts, work.fixed)
