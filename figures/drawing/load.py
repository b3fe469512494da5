"""The load of a figure: models on hardware, and how they are used."""

from dataclasses import dataclass

from simulator.cost.pricing import DEFAULT_CONTEXT
from simulator.cost.roofline_cost import Deployment

ALPHA = 0.7


@dataclass(frozen=True, slots=True)
class FigureLoad:
    """Models on hardware, the context of each sequence and the acceptance rate.

    caption: the deployment in words.
    """

    deployment: Deployment
    caption: str
    context: int = DEFAULT_CONTEXT
    alpha: float = ALPHA


def load_of(
    deployment: Deployment, *, context: int = DEFAULT_CONTEXT, alpha: float = ALPHA
) -> FigureLoad:
    """Returns the load of a deployment, with a caption that names sizes.

    Args:
      deployment: the models, and what they run on.
      context: tokens in each sequence's cache.
      alpha: acceptance rate in [0, 1].
    """
    target, draft, gpus = deployment.target, deployment.draft, deployment.conditions.tp
    held = sum(each.values for each in (*draft.step.weights, *draft.once) if each.held)
    drafter = "" if draft.kind == "model" else f"{draft.kind}, "
    caption = (
        f"{target.name} ({target.parameters / 1e9:.1f}B) drafted by {drafter}{held / 1e9:.2f}B, "
        f"on {gpus} × {deployment.hardware.name}"
    )
    return FigureLoad(deployment, caption, context, alpha)
