"""What a target is loaded from."""

from estimator.drafters.kind import EMBEDDED
from reference.models.embedded import weights_folder


def target_source(name: str) -> str:
    """Returns what to load a target or its tokenizer from; `embedded` stands for its folder."""
    return str(weights_folder("target")) if name == EMBEDDED else name
