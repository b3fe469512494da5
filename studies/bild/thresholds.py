"""The ranges of BiLD's thresholds, checked without PyTorch."""


def require_fallback(threshold: float, most: int) -> None:
    """Refuses a fallback threshold that is not finite and at least 0, and an empty longest draft.

    most: longest draft, in tokens.
    """
    if not 0 <= threshold < float("inf"):
        raise ValueError(f"fallback must be finite and at least 0, got {threshold}")
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most}")


def require_rollback(threshold: float) -> None:
    """Refuses a rollback threshold below 0; an infinite one never rolls back."""
    if not threshold >= 0:
        raise ValueError(f"rollback must be at least 0, got {threshold}")
