"""Plans, measures and validates speculative decoding: from the command line, or from Python.

    >>> import specplan as sp
    >>> sp.plan(sp.Iid(0.8), sp.Ratio(0.05)).best.gamma
    8

Names are imported when they are first used, so that `import specplan` is fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engines.kind import EngineSettings as EngineSettings
    from engines.tuning.request import Tuning as Tuning
    from estimator.settings import PromptSettings as PromptSettings
    from simulator.acceptance.acceptance import Acceptance as Acceptance
    from simulator.acceptance.acceptance import Iid as Iid
    from simulator.acceptance.counted import AcceptedFraction as AcceptedFraction
    from simulator.acceptance.counted import BlockEfficiency as BlockEfficiency
    from simulator.acceptance.counted import ByPosition as ByPosition
    from simulator.acceptance.typical import Typical as Typical
    from simulator.cost.cost import Cost as Cost
    from simulator.cost.cost import Ratio as Ratio
    from simulator.cost.costs import Costs as Costs
    from simulator.cost.fitted.runs import Run as Run
    from simulator.cost.setting import CostSetting as CostSetting
    from simulator.cost.times import Times as Times
    from specplan.api.drafts import *  # noqa: F403
    from specplan.api.plan import *  # noqa: F403
    from specplan.api.planning import *  # noqa: F403
    from specplan.api.recorded import Recorded as Recorded
    from specplan.api.roofline import Roofline as Roofline
    from specplan.api.running import *  # noqa: F403
    from specplan.api.runs import Runs as Runs
    from specplan.api.settings import Arrivals as Arrivals
    from specplan.api.settings import Batching as Batching
    from specplan.api.settings import Simulation as Simulation
    from specplan.api.size import *  # noqa: F403
    from specplan.api.size_settings import SizeSettings as SizeSettings
    from specplan.api.traffic import *  # noqa: F403

_PLACES = {
    "engines.kind": ("EngineSettings",),
    "engines.tuning.request": ("Tuning",),
    "estimator.settings": ("PromptSettings",),
    "simulator.acceptance.acceptance": ("Acceptance", "Iid"),
    "simulator.acceptance.counted": ("AcceptedFraction", "BlockEfficiency", "ByPosition"),
    "simulator.acceptance.typical": ("Typical",),
    "simulator.cost.cost": ("Cost", "Ratio"),
    "simulator.cost.costs": ("Costs",),
    "simulator.cost.fitted.runs": ("Run",),
    "simulator.cost.setting": ("CostSetting",),
    "simulator.cost.times": ("Times",),
    "specplan.api.drafts": ("SizedDraft",),
    "specplan.api.plan": ("Best", "PlanResult", "Plans"),
    "specplan.api.planning": ("plan",),
    "specplan.api.recorded": ("Recorded",),
    "specplan.api.roofline": ("Roofline",),
    "specplan.api.running": ("compare", "measure", "observe", "tune", "validate"),
    "specplan.api.runs": ("Runs",),
    "specplan.api.settings": ("Arrivals", "Batching", "Simulation"),
    "specplan.api.size": ("size",),
    "specplan.api.size_settings": ("SizeSettings",),
    "specplan.api.traffic": ("traffic",),
}
_NAMES = {name: place for place, names in _PLACES.items() for name in names}
__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'specplan' has no attribute {name!r}")
    from specplan.main import require_own_packages

    require_own_packages()
    return getattr(importlib.import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES])
