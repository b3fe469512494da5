"""The reason why K changes with the context: acceptance, cache reads, or slow attention kernels."""

import pytest

from simulator.acceptance.acceptance import Iid
from simulator.choice.plan import Plan, plan
from simulator.cost.curves import CostModel
from simulator.cost.setting import Load
from specplan.reports.contexts import contexts_text


def at(context: int, checking: float, *, draft: float = 0.1) -> Plan:
    """Returns a plan whose passes over four tokens take `checking` target steps."""
    cost = CostModel({1: 1.0, 4: checking}, draft_seconds=draft)
    load = Load(origin="measured on cpu", context=context)
    return plan(Iid(0.8), cost.with_setting(load=load), max_gamma=3)


@pytest.mark.parametrize(
    ("longest", "reason"),
    [
        (at(65536, 2.0), "checking 4 tokens becomes slower (1.20, then 2.00 target steps: kernels"),
        (at(65536, 1.2, draft=0.2), "cache reads of draft and target change (a block takes 1.50, "),
        (at(65536, 1.2), "hardly anything changes"),
    ],
)
def test_passes_over_several_tokens_show_slow_kernels(longest: Plan, reason: str) -> None:
    text = " ".join(contexts_text([at(1024, 1.2), longest], None))
    assert reason in text
