"""All kinds of drafters: each file in the folders of kinds adds its own."""

from functools import cache

from estimator.draft_names.kind import OWN_NAME, DrafterKind
from estimator.kinds import kinds_in

# Studies are above this package, so they are found by name; they may be missing.
FOLDERS = ("estimator.draft_names", "studies.blockwise.draft_names")


@cache
def drafter_kinds() -> tuple[type[DrafterKind], ...]:
    """Returns all kinds, in the order in which they try a name."""
    kinds = kinds_in(FOLDERS, DrafterKind)  # type: ignore[type-abstract]
    return tuple(sorted(kinds, key=lambda kind: (kind.match_priority, kind.__name__)))


def parse_drafter(text: str) -> DrafterKind:
    """Returns the drafter that a user named; other names are Hugging Face names or folders.

    Raises:
      ValueError: if the name is empty, or if its value is invalid.
    """
    if not text.strip():
        raise ValueError("draft must name a drafter, got an empty name")
    for kind in drafter_kinds():
        drafter = kind.parse(text)
        if drafter is not None:
            return drafter
    raise ValueError(f"draft must name a drafter, got {text!r}")


def drafter_forms() -> str:
    """Returns the names of all kinds, as help lists them."""
    kinds = sorted(
        drafter_kinds(), key=lambda kind: (kind.match_priority != OWN_NAME, kind.match_priority)
    )
    names = [form for kind in kinds for form in kind.names]
    return ", ".join(names[:-1]) + f", or {names[-1]}"
