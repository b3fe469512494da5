"""A plan with every number that `specplan plan --json` prints of it, by name."""

from types import SimpleNamespace
from typing import Any

from simulator.acceptance.acceptance import Acceptance
from simulator.choice.plan import plan
from simulator.cost.cost import Cost
from specplan.reports.plans import plan_json


def planned(
    acceptance: Acceptance, cost: Cost, *, batch: int = 1, multiple: int = 1, **options: Any
) -> SimpleNamespace:
    """Returns the plan's curve and its printed numbers as attributes."""
    result = plan(acceptance, cost.with_setting(batch=batch, multiple=multiple), **options)
    numbers = plan_json(result) | {"curve": result.curve, "plan": result}
    return SimpleNamespace(**numbers | numbers["acceptance"])
