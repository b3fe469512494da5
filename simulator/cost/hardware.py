"""One accelerator: peak rates by number format, its memory, and its link to other GPUs."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from simulator.numerics.arguments import non_negative

# A format that the matrix units lack is unpacked to 16 bits first.
_UNPACKED = {"fp4": ("fp8", "bfloat16", "float16"), "fp8": ("bfloat16", "float16"),
             "int8": ("bfloat16", "float16")}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hardware:
    """Peak rates, memory and link of one accelerator, with their source.

    name: name on the command line, in lower case.
    peak_flops: dense operations per second by number format (a name of
      simulator.cost.number_formats.COMPUTED). "bfloat16", "float16", "fp8", "int8" and "fp4" are
      rates of the matrix units, without structured sparsity and accumulating in float32; "float32"
      is plain float32 arithmetic, which frameworks use unless set to round to TF32. Formats that
      the hardware lacks are absent.
    bandwidth: memory bandwidth in bytes per second.
    memory_bytes: memory size in bytes.
    link_bandwidth: bytes per second to other GPUs of the server, one way; None without a link.
    link_latency_seconds: least time of an all-reduce, even for few bytes.
    source: title of the maker's document.
    seen: where the numbers were read for this release; empty if they could not be looked up.
    """

    name: str
    peak_flops: Mapping[str, float]
    bandwidth: float
    memory_bytes: float
    link_bandwidth: float | None
    link_latency_seconds: float
    source: str
    seen: str

    def flops(self, computed_in: str) -> float:
        """Returns the peak rate of products in a number format, or in the format it is unpacked to.

        Raises ValueError if this hardware has no such format, and the format cannot be unpacked.
        """
        for name in (computed_in, *_UNPACKED.get(computed_in, ())):
            if name in self.peak_flops:
                return self.peak_flops[name]
        raise ValueError(
            f"dtype must be one that {self.name} computes in "
            f"({', '.join(self.peak_flops)}), got {computed_in}"
        )


def own_hardware(*, flops: float, bandwidth: float, memory_bytes: float) -> Hardware:
    """Returns an accelerator that the catalogue lacks, with one rate for every 16-bit format.

    Args:
      flops: dense 16-bit operations per second.
      bandwidth: memory bandwidth in bytes per second.
      memory_bytes: memory size in bytes.

    Raises ValueError if a number is not above 0.
    """
    for name, value in (("flops", flops), ("bandwidth", bandwidth), ("memory", memory_bytes)):
        if float(non_negative(f"gpu {name}", value)) == 0:
            raise ValueError(f"gpu {name} must be above 0, got 0")
    return Hardware(
        name="own",
        peak_flops=MappingProxyType({"bfloat16": flops, "float16": flops}),
        bandwidth=bandwidth,
        memory_bytes=memory_bytes,
        link_bandwidth=None,
        link_latency_seconds=0.0,
        source="stated by the user",
        seen="stated by the user",
    )
