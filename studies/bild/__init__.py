"""Big Little Decoder (BiLD, Kim et al. 2023): loop, decisions, costs, sweeps, default settings."""

FALLBACKS = (0.3, 0.5, 0.7, 0.9)
ROLLBACKS = (1.0, 2.0, 4.0)
# Lenience of the speculative decoding that BiLD is compared with.
LENIENCE = 0.5
CERTAINTY = "probability"
DISTANCE = "cross-entropy"
# Most tokens in a row that the small model writes in the paper's runs (section 7.1.2).
PAPERS_MOST = 10
# Thresholds of Figure 3, for decoding one text.
ONE_FALLBACK = 0.6
ONE_ROLLBACK = 2.0


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
