"""Costs on a GPU from two models' configurations."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from specplan.api.deployed import Deployed, Loads
from specplan.options.deployment import INSTEAD, NEEDS, WANTS
from specplan.options.kinds import CostKind
from specplan.options.runs import RunsOptions

if TYPE_CHECKING:
    from simulator.cost.costs import Costs


@dataclass(frozen=True)
class RooflineOptions(
    Deployed, Loads, RunsOptions, CostKind, order=4, needs=NEEDS, instead=INSTEAD, wants=WANTS
):
    """Costs of two configured models on a GPU, corrected by runs; see each option's help."""

    def make(self) -> Costs:
        from specplan.api.roofline import Roofline

        settings = {part.name: getattr(self, part.name) for part in fields(self)}
        return Roofline(**settings | {"runs": self.runs or ()})
