"""The cost of two models on given hardware: its blocks, and passes over drafts and prompts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.cost.cost import ChangedCost
from simulator.cost.fitted.machine import seconds_of
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.deployment import Deployment, draft_pass_seconds, prompt_seconds


@dataclass(frozen=True, slots=True)
class RooflineCost(ChangedCost):
    """The cost of a deployment at one load: by the roofline, or fitted to measurements.

    inner: times of blocks, as curves (`roofline_cost`) or with a distribution (`ParametricCost`).
    point: context and batch size.
    """

    deployment: Deployment = field(kw_only=True)
    point: LoadPoint = field(kw_only=True)

    def draft_passes(self, widest: int) -> Mapping[int, float]:
        at = {"context": self.point.context, "batch": self.point.batch}
        exact = draft_pass_seconds(self.deployment, **at, widest=widest)
        known = self.posterior
        if not isinstance(known, Posterior):
            return exact
        work = known.machine.drafting_work
        return {n: float(seconds_of(work(self.point, 1, n), known.logs)) for n in exact}

    def prompt_seconds(self, tokens: int) -> tuple[float, float]:
        plain, both = prompt_seconds(self.deployment, tokens)
        known = self.posterior
        if not isinstance(known, Posterior):
            return plain, both
        known = known.undrafted
        works = known.machine.plain_work(LoadPoint(0)), known.machine.prompt_work(tokens)
        # A pass over the prompt takes no less than a pass over one token.
        fitted = max(float(seconds_of(work, known.logs)) for work in works)
        return fitted, fitted + both - plain
