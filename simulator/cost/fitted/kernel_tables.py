"""Measured times of a GPU's kernels: products, experts, attention and exchanges, by their sizes."""

from abc import ABC, abstractmethod


class KernelTables(ABC):
    """Measured times of single kernels on one GPU, in seconds.

    A look-up outside the measured range extrapolates; without any measurement it raises ValueError.
    `rows`: tokens in a product. `stored`: bytes per weight. Example: a GPU that only spends time on
    reading weights, at 2 TB/s:

      >>> class OnlyBandwidth(KernelTables):
      ...     name = "2 TB/s"
      ...     experts = attention = all_to_all = all_reduce = lambda self, **sizes: 0.0
      ...     def product(self, *, rows, outputs, inputs, stored):
      ...         return outputs * inputs * stored / 2e12
      >>> OnlyBandwidth().product(rows=8, outputs=4096, inputs=4096, stored=2.0)
      1.6777216e-05
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Source and versions of the tables, as shown in answers."""

    @property
    def rereads(self) -> bool:
        """Whether several queries of a sequence read keys and values once for each query head.

        One query reads them once for each key head, since kernels take the query heads of a key
        head for queries; FlashAttention 2 does so for a single query only.
        """
        return False

    @property
    def drafting_layer(self) -> float:
        """Seconds of each layer of a draft's pass beyond its kernels; 0 if passes are captured."""
        return 0.0

    @abstractmethod
    def product(self, *, rows: int, outputs: int, inputs: int, stored: float) -> float:
        """Returns the time to multiply `rows` vectors by a weight matrix of outputs x inputs."""

    @abstractmethod
    def experts(
        self, *, rows: int, hidden: int, inner: int, count: int, active: int,
        gpus: tuple[int, int], stored: float,
    ) -> float:  # fmt: skip
        """Returns the time of one layer's `count` routed experts, `active` per token.

        The tokens take experts in turn: they read rows · active of them, at most all.
        gpus: number of GPUs that share each expert, and parts into which experts are divided.
        """

    @abstractmethod
    def attention(
        self, *, batch: int, context: int, heads: int, key_heads: int, head_size: int
    ) -> float:
        """Returns the time of one layer's attention with one query per sequence."""

    @abstractmethod
    def all_to_all(self, *, rows: int, hidden: int, count: int, active: int, gpus: int) -> float:
        """Returns the time to send `rows` tokens of each GPU to their experts and back."""

    @abstractmethod
    def all_reduce(self, *, rows: int, hidden: int, gpus: int) -> float:
        """Returns the time of an all-reduce of `rows` vectors of `hidden` 16-bit values."""
