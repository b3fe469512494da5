"""The largest step that a server replays as a captured graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Wall:
    """A limit of captured graphs. Beyond it kernels are launched one by one.

    A step then can take three times as long: on a published grid of vLLM, batch 128 gave 22.2
    thousand tokens/s at K = 3 (512 tokens a step) and 8.0 at K = 5 (768 tokens).

    unit: "tokens" of a step, all drafted ones included, or "requests".
    most: the largest step that is captured, at least 1.
    flag: the server's setting that moves the limit.
    read_in: file and version of the server's source that say so.

    Example:
      >>> Wall("tokens", 512, "--max-cudagraph-capture-size", "").beyond(128, [3, 5]).tolist()
      [False, True]
    """

    unit: Literal["tokens", "requests"]
    most: int
    flag: str
    read_in: str

    def size(self, batch: int, gamma: ArrayLike) -> NDArray[np.int64]:
        """Returns the size of a step in the limit's unit.

        Args:
          batch: sequences decoded together.
          gamma: drafted tokens per block, 0 for the baseline, shape (...).
        """
        tokens = np.asarray(gamma, dtype=np.int64) + 1
        return batch * (tokens if self.unit == "tokens" else np.ones_like(tokens))

    def beyond(self, batch: int, gamma: ArrayLike) -> NDArray[np.bool_]:
        """Returns whether a step is larger than what is captured, shape (...)."""
        return np.asarray(self.size(batch, gamma) > self.most)

    def crossed(self, batch: int, gamma: ArrayLike) -> NDArray[np.bool_]:
        """Returns whether a step lies beyond while the baseline's does not, shape (...)."""
        return self.beyond(batch, gamma) & ~self.beyond(batch, 0)
