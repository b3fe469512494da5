"""The largest step that a server runs as a captured graph."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Wall:
    """A server's limit for captured graphs. Above it kernels are launched one by one.

    Such a step can take three times as long: on a published grid of vLLM, batch 128 gave 22.2
    thousand tokens/s at K = 3 (512 tokens per step) and 8.0 at K = 5 (768 tokens).

    unit: "tokens" of a step, drafted ones included, or "requests".
    most: the largest captured step, at least 1.
    flag: the server's setting that changes the limit.
    read_in: file and version of the server's source that state the limit.

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
        """Returns whether a step is larger than the largest captured step."""
        return self.size(batch, gamma) > self.most

    def crossed(self, batch: Any, gamma: Any) -> Any:
        """Returns whether a step exceeds the limit while the baseline's step does not."""
        return self.beyond(batch, gamma) > self.beyond(batch, 0)

    def most_batch(self, gamma: int) -> int:
        """Returns the largest batch whose steps are captured; 0: none is."""
        return self.most // int(self.size(1, gamma))

    def most_gamma(self, batch: int, up_to: int) -> int:
        """Returns the most drafted tokens of a sequence, at most `up_to`, that do not cross."""
        if self.unit != "tokens" or self.beyond(batch, 0):
            return up_to
        return min(up_to, self.most // batch - 1)
