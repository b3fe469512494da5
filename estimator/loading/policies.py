"""Gamma policies as a user names them: `fixed`, `heuristic`, `confidence:0.4`, `product:0.3`."""

from collections.abc import Sequence

from estimator.settings import FIXED, MOST_GAMMA
from reference.policies import Confidence, Fixed, Heuristic, Policy, Product

ADAPTIVE, HEURISTIC = "adaptive", "heuristic"
FIRST_HEURISTIC_GAMMA = 5
STOPPING = {"confidence": Confidence, "product": Product}


def parse_policies(
    names: Sequence[str], *, gammas: Sequence[int], max_gamma: int
) -> dict[str, Policy | None]:
    """Returns the policies by name; None for the adaptive one, which has to wait for costs.

    names: as the user gave them; `fixed` means one policy for each gamma.

    Raises ValueError if a name is unknown or lacks its value, or a value is out of range.
    """
    policies: dict[str, Policy | None] = {}
    for name in names:
        if name == FIXED:
            for gamma in gammas:
                if not 1 <= gamma <= MOST_GAMMA:
                    raise ValueError(f"gamma must lie in [1, {MOST_GAMMA}], got {gamma}")
                policies[f"gamma {gamma}"] = Fixed(gamma)
        else:
            policies[name] = None if name == ADAPTIVE else _by_rule(name, max_gamma)
    return policies


def _by_rule(name: str, max_gamma: int) -> Policy:
    kind, _, value = name.partition(":")
    if name == HEURISTIC:
        return Heuristic(start=min(FIRST_HEURISTIC_GAMMA, max_gamma), most=max_gamma)
    if kind in STOPPING:
        try:
            return STOPPING[kind](threshold=float(value), most=max_gamma)
        except ValueError as error:
            raise ValueError(
                f"policy {kind}:P needs a threshold P in [0, 1], got {name!r}"
            ) from error
    raise ValueError(
        f"policy must be fixed, heuristic, confidence:P, product:P or adaptive, got {name!r}"
    )
