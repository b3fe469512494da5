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
    """Returns the named policies. The adaptive policy is None until costs are measured.

    The name `fixed` adds one policy per gamma. Refuses an unknown name or value.
    """
    policies: dict[str, Policy | None] = {}
    for name in names:
        kind, _, value = name.partition(":")
        if name == FIXED:
            for gamma in gammas:
                if not 1 <= gamma <= MOST_GAMMA:
                    raise ValueError(f"gamma must lie in [1, {MOST_GAMMA}], got {gamma}")
                policies[f"gamma {gamma}"] = Fixed(gamma)
        elif name == ADAPTIVE:
            policies[name] = None
        elif name == HEURISTIC:
            start = min(FIRST_HEURISTIC_GAMMA, max_gamma)
            policies[name] = Heuristic(start=start, most=max_gamma)
        elif kind in STOPPING:
            try:
                policies[name] = STOPPING[kind](threshold=float(value), most=max_gamma)
            except ValueError as error:
                raise ValueError(
                    f"policy {kind}:P needs a threshold P in [0, 1], got {name!r}"
                ) from error
        else:
            raise ValueError(
                "policy must be fixed, heuristic, confidence:P, product:P or adaptive, got "
                f"{name!r}"
            )
    return policies
