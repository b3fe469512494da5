"""Independent random streams, one for each purpose."""

import numpy as np
import torch


def seeded(device: torch.device, *seed: int) -> torch.Generator:
    """Returns a generator whose stream belongs to these numbers alone."""
    # The length first: to a SeedSequence trailing zeros are nothing.
    state = np.random.SeedSequence((len(seed), *seed)).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(state) >> 1)
