"""Plans, measures and validates speculative decoding: from the command line, or from Python.

    >>> import specplan as sp
    >>> sp.plan(sp.Iid(0.8), sp.Ratio(0.05)).best.gamma
    8

Names are imported when they are first used, so that `import specplan` is fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specplan.door.planning import *  # noqa: F403
    from specplan.door.running import *  # noqa: F403
    from specplan.door.stated import *  # noqa: F403
    from specplan.door.traffic import *  # noqa: F403

_PLACES = {
    "planning": ("Best", "PlanResult", "plan"),
    "running": ("measure", "observe", "tune", "validate"),
    "traffic": ("traffic",),
    "stated": (
        "AcceptedFraction", "BlockEfficiency", "ByPosition", "Iid", "Ratio", "Recorded",
        "Roofline", "Run", "Runs", "Times", "Typical",
    ),
}  # fmt: skip
_NAMES = {name: f"specplan.door.{place}" for place, names in _PLACES.items() for name in names}
__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'specplan' has no attribute {name!r}")
    from specplan.main import require_own_packages

    require_own_packages()
    return getattr(importlib.import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES])
