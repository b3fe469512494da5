"""Plans, measures and validates speculative decoding: from the command line, or from Python.

    >>> import specplan as sp
    >>> sp.plan(sp.Iid(0.8), sp.Ratio(0.05)).best.gamma
    8

Names are imported when they are first used, so that `import specplan` is fast.
"""

import importlib
import importlib.util
from pathlib import Path
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
_PACKAGES = ("simulator", "reference", "ngram", "estimator", "engines", "studies", "figures")


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'specplan' has no attribute {name!r}")
    require_own_packages()
    return getattr(importlib.import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES])


def require_own_packages() -> None:
    """Raises ImportError if another installed module shadows one of our packages.

    The message names the other module's file.
    """
    here = Path(__file__).resolve().parents[1]
    for name in _PACKAGES:
        found = importlib.util.find_spec(name)
        origin = None if found is None else found.origin
        if origin is None or Path(origin).resolve().parents[1] != here:
            raise ImportError(
                f"specplan needs its own package {name!r}, but Python finds {origin or 'none'}: "
                "rename that file, or install specplan apart (pipx install .)"
            )
