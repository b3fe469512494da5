"""A server's acceptance compared with the expected one, as one sentence and JSON."""

from typing import Any

from engines.observing.drift import Drift


def drift_json(drift: Drift, *, best_gamma: int | None) -> dict[str, Any]:
    """Returns the JSON object of a drift; best_gamma: the γ to run now, None: not planned."""
    fields = drift._asdict()
    return {**fields, "moved": [part._asdict() for part in drift.moved], "best_gamma": best_gamma}


def drift_text(drift: Drift, *, best_gamma: int | None) -> str:
    """Returns the sentence on a drift; best_gamma: the γ to run now, None: not planned."""
    interval = f"{drift.length:.2f} tokens per target call ({drift.low:.2f} to {drift.high:.2f})"
    if not drift.found:
        return f"Acceptance is as expected: {interval}, {drift.expected:.2f} expected."
    word = "fell" if drift.length < drift.expected else "rose"
    moved = ", ".join(
        f"{part.name} {part.observed:.2f} for {part.expected:.2f}" for part in drift.moved
    )
    where = f"; {moved}" if moved else ""
    now = "" if best_gamma is None else f" The best K is now {best_gamma}."
    return f"Acceptance {word}: {interval}, {drift.expected:.2f} expected{where}.{now}"
