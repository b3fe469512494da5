"""Number formats of stored weights: bytes per value, the scales of its group included."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from simulator.numerics.arguments import integer, non_negative

# Formats in which matrix units multiply, the widest first.
COMPUTED = ("float32", "bfloat16", "float16", "fp8", "int8", "fp4")


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How weights are stored, and the narrowest format in which they can be multiplied.

    bits: bits per value, at least 1.
    group: number of values that share scales, at least 1.
    scale_bytes: bytes of the scales (and zero points) of one group.
    computed_in: a name of COMPUTED. Wider activations raise it to their format.
    everywhere: whether embedding and output matrix are stored in this format, too; quantised
      checkpoints usually leave both unquantised.
    """

    name: str
    bits: int
    group: int
    scale_bytes: float
    computed_in: str
    everywhere: bool = False

    def __post_init__(self) -> None:
        integer("bits", self.bits, at_least=1)
        integer("group", self.group, at_least=1)
        non_negative("scale_bytes", self.scale_bytes)

    @property
    def bytes_per_value(self) -> float:
        """Bytes per stored value, including its share of the group's scales."""
        return self.bits / 8 + self.scale_bytes / self.group

    def product_format(self, activations: str) -> str:
        return min(self.computed_in, activations, key=COMPUTED.index)


def int4(*, group: int, zero_points: bool, scale_bytes: float = 2.0) -> NumberFormat:
    """Returns the 4-bit format of AWQ and GPTQ.

    Args:
      group: number of values that share a scale, at least 1.
      zero_points: whether each group has a zero point of 4 bits.
      scale_bytes: bytes of one scale.
    """
    return NumberFormat("int4", 4, group, scale_bytes + 0.5 * zero_points, "fp4")


FORMATS: Mapping[str, NumberFormat] = MappingProxyType(
    {
        each.name: each
        for each in (
            NumberFormat("float32", 32, 1, 0, "float32", everywhere=True),
            NumberFormat("bfloat16", 16, 1, 0, "bfloat16", everywhere=True),
            NumberFormat("float16", 16, 1, 0, "float16", everywhere=True),
            NumberFormat("fp8", 8, 128 * 128, 4, "fp8"),
            NumberFormat("int8", 8, 4096, 2, "int8"),
            int4(group=128, zero_points=True),
            # A block of 32 with an 8-bit exponent (OCP Microscaling Formats 1.0, section 5.2), and
            # NVIDIA's of 16 with an 8-bit scale.
            NumberFormat("mxfp4", 4, 32, 1, "fp4"),
            NumberFormat("nvfp4", 4, 16, 1, "fp4"),
            # llama.cpp: blocks of 32 with a 16-bit scale.
            NumberFormat("q8_0", 8, 32, 2, "int8", everywhere=True),
            NumberFormat("q4_0", 4, 32, 2, "int8", everywhere=True),
        )
    }
)


def find_format(name: str) -> NumberFormat:
    """Returns the number format with that name.

    Raises ValueError if there is no such format; the message lists all formats.
    """
    if name not in FORMATS:
        raise ValueError(f"dtype must be one of {', '.join(FORMATS)}, got {name}")
    return FORMATS[name]
