"""A catalogue of accelerators: peak arithmetic rates, memory bandwidth, and who states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Hardware:
    """The two roofs of one accelerator and where its maker states them.

    name: how a user names it, in lower case.
    peak_flops: dense floating-point operations a second by number format. "bfloat16" and "float16"
      are those of the matrix units, without structured sparsity and accumulating in float32;
      "float32" is plain float32 arithmetic, which frameworks use unless told to round to TF32.
      A format that the hardware lacks is absent.
    bandwidth: bytes a second from its memory.
    memory_bytes: size of that memory.
    source: the maker's document, by title.
    """

    name: str
    peak_flops: Mapping[str, float]
    bandwidth: float
    memory_bytes: float
    source: str

    def flops(self, dtype: str) -> float:
        """Returns the peak rate in a number format.

        Raises:
          ValueError: if this hardware has no such format.
        """
        if dtype not in self.peak_flops:
            raise ValueError(
                f"dtype must be one that {self.name} computes in "
                f"({', '.join(self.peak_flops)}), got {dtype}"
            )
        return self.peak_flops[dtype]


_AMPERE = "NVIDIA A100 Tensor Core GPU datasheet (2021)"
_HOPPER = "NVIDIA H100 Tensor Core GPU datasheet (2023), half of the rates with sparsity"
_CLOUD_TPU = "Google Cloud documentation, TPU system architecture"

# name, teraFLOP/s in bfloat16, float16 and float32 (0: none), GB/s, GB, document
_ROWS = (
    ("a100-40gb", 312, 312, 19.5, 1555, 40, f"{_AMPERE}, A100 40GB"),
    ("a100-80gb", 312, 312, 19.5, 2039, 80, f"{_AMPERE}, A100 80GB SXM"),
    ("a100-80gb-pcie", 312, 312, 19.5, 1935, 80, f"{_AMPERE}, A100 80GB PCIe"),
    ("h100-sxm", 989.5, 989.5, 67, 3350, 80, f"{_HOPPER}, H100 SXM"),
    ("h100-pcie", 756.5, 756.5, 51, 2000, 80, f"{_HOPPER}, H100 PCIe"),
    ("h200", 989.5, 989.5, 67, 4800, 141,
     "NVIDIA H200 Tensor Core GPU datasheet (2024), half of the rates with sparsity"),
    ("l4", 121, 121, 30.3, 300, 24,
     "NVIDIA L4 Tensor Core GPU datasheet (2023), half of the rates with sparsity"),
    ("l40s", 362.05, 362.05, 91.6, 864, 48, "NVIDIA L40S datasheet (2023)"),
    ("a10", 125, 125, 31.2, 600, 24, "NVIDIA A10 Tensor Core GPU datasheet (2021)"),
    ("a10g", 70, 70, 35, 600, 24, "NVIDIA A10G datasheet (2021), as offered in Amazon EC2 G5"),
    ("t4", 0, 65, 8.1, 320, 16, "NVIDIA T4 Tensor Core GPU datasheet (2019)"),
    ("v100", 0, 125, 15.7, 900, 32, "NVIDIA V100 Tensor Core GPU datasheet (2020), SXM2"),
    ("rtx-3090", 71, 71, 35.6, 936, 24,
     "NVIDIA Ampere GA102 GPU Architecture whitepaper (2021), table of GeForce RTX 3090"),
    ("rtx-4090", 165.2, 165.2, 82.6, 1008, 24,
     "NVIDIA Ada GPU Architecture whitepaper (2023), appendix A"),
    ("mi300x", 1307.4, 1307.4, 163.4, 5300, 192, "AMD Instinct MI300X data sheet (2023)"),
    ("tpu-v4", 275, 0, 0, 1228, 34.4, f"{_CLOUD_TPU}, TPU v4"),
    ("tpu-v5e", 197, 0, 0, 819, 16, f"{_CLOUD_TPU}, TPU v5e"),
)  # fmt: skip

CATALOGUE: Mapping[str, Hardware] = MappingProxyType(
    {
        name: Hardware(
            name=name,
            peak_flops=MappingProxyType(
                {
                    dtype: 1e12 * rate
                    for dtype, rate in (("bfloat16", bf16), ("float16", fp16), ("float32", fp32))
                    if rate > 0
                }
            ),
            bandwidth=1e9 * bandwidth,
            memory_bytes=1e9 * memory,
            source=source,
        )
        for name, bf16, fp16, fp32, bandwidth, memory, source in _ROWS
    }
)

# What people say when they do not say which variant.
ALIASES: Mapping[str, str] = MappingProxyType(
    {"a100": "a100-80gb", "h100": "h100-sxm", "4090": "rtx-4090", "3090": "rtx-3090"}
)


def find_hardware(name: str) -> Hardware:
    """Returns the catalogue's entry of that name; case, spaces and underscores do not matter.

    Raises:
      ValueError: if the catalogue has no such entry; the message lists the names that it has.
    """
    key = name.strip().lower().replace(" ", "-").replace("_", "-")
    key = ALIASES.get(key, key)
    if key not in CATALOGUE:
        raise ValueError(f"gpu must be one of {', '.join(CATALOGUE)}, got {name}")
    return CATALOGUE[key]
