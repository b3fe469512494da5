"""A server's acceptance compared with the expected one, as one sentence and JSON."""

from typing import Any

from engines.observing.drift import Drift


def drift_json(found: Drift, *, best_gamma: int | None) -> dict[str, Any]:
    """Returns the JSON object of a drift; best_gamma: the γ to run now, None: not planned."""
    fields = found._asdict()
    return {**fields, "moved": [each._asdict() for each in found.moved], "best_gamma": best_gamma}


def drift_text(found: Drift, *, best_gamma: int | None) -> str:
    """Returns the sentence on a drift; best_gamma: the γ to run now, None: not planned."""
    interval = f"{found.length:.2f} tokens per target call ({found.low:.2f} to {found.high:.2f})"
    if not found.found:
        return f"Acceptance is as expected: {interval}, {found.expected:.2f} expected."
    word = "fell" if found.length < found.expected else "rose"
    moved = ", ".join(
        f"{each.name} {each.observed:.2f} for {each.expected:.2f}" for each in found.moved
    )
    where = f"; {moved}" if moved else ""
    now = "" if best_gamma is None else f" The best K is now {best_gamma}."
    return f"Acceptance {word}: {interval}, {found.expected:.2f} expected{where}.{now}"
