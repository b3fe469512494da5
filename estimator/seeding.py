"""Independent random streams, one for each purpose."""

import numpy as np
import torch


def seeded(device: torch.device, *seed: int) -> torch.Generator:
    """Returns a generator whose stream belongs to these numbers alone."""
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(state) >> 1)
