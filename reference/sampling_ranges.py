"""The ranges of settings of sampling and verification, checked without PyTorch."""

LEAST_TEMPERATURE = 1e-6


def require_sampling(
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repetition_penalty: float = 1.0,
) -> None:
    """Refuses settings outside their ranges; for their meaning see `reference.laws.Sampling`."""
    # Written so that NaN fails each comparison.
    if not (temperature == 0 or LEAST_TEMPERATURE <= temperature < float("inf")):
        raise ValueError(
            f"temperature must be 0, or finite and at least {LEAST_TEMPERATURE}, got {temperature}"
        )
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, got {top_k}")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must lie in (0, 1], got {top_p}")
    if not 0 <= min_p <= 1:
        raise ValueError(f"min_p must lie in [0, 1], got {min_p}")
    if not 0 < repetition_penalty < float("inf"):
        raise ValueError(f"repetition_penalty must be finite and above 0, got {repetition_penalty}")


def require_lenience(lenience: float) -> None:
    """Refuses a lenience outside (0, 1]; for its meaning see `reference.rules.Lenient`."""
    if not 0 < lenience <= 1:
        raise ValueError(f"lenience must lie in (0, 1], got {lenience}")
