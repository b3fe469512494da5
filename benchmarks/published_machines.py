"""The machine of published measurements that differs from today's servers."""

from __future__ import annotations

from simulator.cost.machine import Drafting, LoadPoint
from simulator.cost.parameters import PARAMETERS, Work
from simulator.cost.served import Served


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
