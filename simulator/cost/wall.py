"""The largest step that a server replays as a captured graph."""

from dataclasses import dataclass
from typing import Any, Literal


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
      >>> graphs = Wall("tokens", 512, "--max-cudagraph-capture-size", "")
      >>> graphs.beyond(128, 3), graphs.beyond(128, 5)
      (False, True)
    """

    unit: Literal["tokens", "requests"]
    most: int
    flag: str
    read_in: str

    def size(self, batch: Any, gamma: Any) -> Any:
        """Returns the size of a step in the limit's unit.

        Args:
          batch: sequences decoded together, a number or an array.
          gamma: drafted tokens per block, 0 for the baseline, a number or an array.
        """
        return batch * (gamma + 1) if self.unit == "tokens" else batch * (gamma * 0 + 1)

    def beyond(self, batch: Any, gamma: Any) -> Any:
        """Returns whether a step is larger than the captured ones."""
        return self.size(batch, gamma) > self.most

    def crossed(self, batch: Any, gamma: Any) -> Any:
        """Returns whether a step lies beyond while the baseline's does not."""
        return self.beyond(batch, gamma) > self.beyond(batch, 0)
