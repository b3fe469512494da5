"""A catalogue of accelerators, each number by its maker's document and where that was read."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

from simulator.cost.hardware import Hardware

_AMPERE = "NVIDIA A100 Tensor Core GPU datasheet (2021)"
_HOPPER = "NVIDIA H100 Tensor Core GPU datasheet (2023), half of the rates with sparsity"
_TPU = "Google Cloud documentation, TPU system architecture"
_BLACKWELL = "NVIDIA RTX Blackwell GPU Architecture whitepaper (2025), dense, float32 accumulation"
_APPLE = "Apple newsroom and technical specifications, memory bandwidth"
# Apple states no rates after the M2: cores · 256 operations · clock, which no document confirms.
_APPLE_RATE = f"{_APPLE}; rate from cores and clock"

# What was read on 21 November 2026, most of it pages that quote the makers' documents: those could
# not be opened themselves.
_QUOTED = "github.com/stas00/ml-engineering, compute/accelerator (August 2026), quoting it"
_KLOCKWOOD = "glennklockwood.com/garden/processors, quoting NVIDIA's whitepaper"
_BASETEN = "baseten.co/blog/nvidia-a10-vs-a10g-for-ml-model-inference, memory alone"
_DATASHEETS = "github.com/astroC86/gpu-datasheet, quoting it"
_WINSTON = "github.com/winston-zhang-orz/gpu-specs"
_CALWOO = "calwoo.github.io/notes, nvidia-gpu-hardware; float32 and size of memory alone"
_GOOGLE = "docs.cloud.google.com/tpu/docs"
_PRESS = "press reports of Apple's announcement"
_NOT = ""

# An all-reduce of a few kilobytes in a CUDA graph: 6 µs between two H100 (github.com/NVIDIA/nccl
# issue 1259), 20 µs between four V100 on PCIe (github.com/haohervchb/sglang-V100 pull request 2).
_NVLINK_SECONDS, _PCIE_SECONDS = 6e-6, 20e-6

_Row = tuple[
    str, float, float, float, float, float, float, float, float, float, str, str
]

# name; teraoperations/s in bfloat16, float16, float32, fp8, int8, fp4 (0: none); GB/s; GB; GB/s of
# the link one way (0: none); document; where it was read
_ROWS: tuple[_Row, ...] = (
    ("a100-40gb", 312, 312, 19.5, 0, 624, 0, 1555, 40, 300, f"{_AMPERE}, A100 40GB",
     _KLOCKWOOD),
    ("a100-80gb", 312, 312, 19.5, 0, 624, 0, 2039, 80, 300, f"{_AMPERE}, A100 80GB SXM", _QUOTED),
    ("a100-80gb-pcie", 312, 312, 19.5, 0, 624, 0, 1935, 80, 32, f"{_AMPERE}, A100 80GB PCIe",
     _QUOTED),
    ("h100-sxm", 989.5, 989.5, 67, 1979, 1979, 0, 3350, 80, 450, f"{_HOPPER}, H100 SXM", _QUOTED),
    ("h100-pcie", 756.5, 756.5, 51, 1513, 1513, 0, 2000, 80, 64, f"{_HOPPER}, H100 PCIe", _QUOTED),
    ("h200", 989.5, 989.5, 67, 1979, 1979, 0, 4800, 141, 450,
     "NVIDIA H200 Tensor Core GPU datasheet (2024), half of the rates with sparsity", _QUOTED),
    ("h20", 148, 148, 44, 296, 296, 0, 4000, 96, 450, "NVIDIA H20 product brief (2024)",
     "willitrunai.com/gpus/h20-96gb; float32: zangshuxian.com"),
    ("h800", 989.5, 989.5, 67, 1979, 1979, 0, 3350, 80, 200, "NVIDIA H800 product brief (2023)",
     f"{_DATASHEETS}; link: philisun.com on H800 and H100"),
    ("gh200-96gb", 989.5, 989.5, 67, 1979, 1979, 0, 4000, 96, 450,
     "NVIDIA GH200 Grace Hopper Superchip datasheet (2024), HBM3", _QUOTED),
    ("gh200-141gb", 989.5, 989.5, 67, 1979, 1979, 0, 4800, 141, 450,
     "NVIDIA GH200 Grace Hopper Superchip datasheet (2024), HBM3e", _QUOTED),
    ("b200", 2250, 2250, 80, 4500, 4500, 9000, 8000, 180, 900, "NVIDIA DGX B200 datasheet (2025)",
     f"{_QUOTED}; {_KLOCKWOOD}"),
    ("gb200", 2500, 2500, 80, 5000, 5000, 10000, 8000, 186, 900,
     "NVIDIA GB200 NVL72 specifications (2025), one of its GPUs", f"{_QUOTED}; {_KLOCKWOOD}"),
    ("gb300", 2500, 2500, 80, 5000, 165, 15000, 8000, 279, 900,
     "NVIDIA GB300 NVL72 specifications (2025), one of its GPUs",
     f"{_QUOTED}; memory and int8: verda.com/blog/gb300-nvl72-architecture"),
    ("l4", 121, 121, 30.3, 242.5, 242.5, 0, 300, 24, 32,
     "NVIDIA L4 Tensor Core GPU datasheet (2023), half of the rates with sparsity",
     _WINSTON),
    ("l20", 119.5, 119.5, 59.8, 239, 239, 0, 864, 48, 32, "NVIDIA L20 product brief (2023)",
     "topcpu.net on the L20, memory alone"),
    ("l40s", 362.05, 362.05, 91.6, 733, 733, 0, 864, 48, 32, "NVIDIA L40S datasheet (2023)",
     _QUOTED),
    ("a10", 125, 125, 31.2, 0, 250, 0, 600, 24, 32,
     "NVIDIA A10 Tensor Core GPU datasheet (2021)",
     f"{_DATASHEETS}; float32: {_WINSTON}"),
    ("a10g", 70, 70, 35, 0, 140, 0, 600, 24, 32,
     "NVIDIA A10G datasheet (2021), as offered in Amazon EC2 G5", _BASETEN),
    ("t4", 0, 65, 8.1, 0, 130, 0, 320, 16, 16, "NVIDIA T4 Tensor Core GPU datasheet (2019)",
     "geektopia.es, the announcement; memory: sysrqmts.com"),
    ("v100", 0, 125, 15.7, 0, 0, 0, 900, 32, 150,
     "NVIDIA V100 Tensor Core GPU datasheet (2020), SXM2",
     f"{_WINSTON}; float16: developer.nvidia.com/programming-tensor-cores-cuda-9-0; bandwidth: "
     "io-tech.fi"),
    ("rtx-3090", 71, 71, 35.6, 0, 284, 0, 936, 24, 32,
     "NVIDIA Ampere GA102 GPU Architecture whitepaper (2021), table of GeForce RTX 3090",
     f"{_CALWOO}; bandwidth: github.com/xiaozheyao/triteia"),
    ("rtx-4090", 165.2, 165.2, 82.6, 330.3, 660.6, 0, 1008, 24, 32,
     "NVIDIA Ada GPU Architecture whitepaper (2023), appendix A",
     f"{_CALWOO}; 16 bits and bandwidth: gist.github.com/mikasenghaas, accelerator intensity"),
    ("rtx-5090", 209.5, 209.5, 104.8, 419, 838, 1676, 1792, 32, 64, _BLACKWELL,
     "libertify.com/interactive-library on that whitepaper, memory; rates: those of "
     "spheron.network/blog/nvidia-rtx-5090-specs without sparsity, accumulating in float32"),
    ("rtx-pro-6000", 503.8, 503.8, 125, 1007.6, 1007.6, 2015.2, 1792, 96, 64,
     "NVIDIA RTX PRO 6000 Blackwell Workstation Edition datasheet (2025), dense",
     "press reports of the announcement, float32, fp4 and memory alone"),
    ("mi300x", 1307.4, 1307.4, 163.4, 2614.9, 2614.9, 0, 5300, 192, 448,
     "AMD Instinct MI300X data sheet (2023)", _QUOTED),
    ("mi325x", 1307.4, 1307.4, 163.4, 2614.9, 2614.9, 0, 6000, 256, 448,
     "AMD Instinct MI325X data sheet (2024)", _QUOTED),
    ("mi355x", 2500, 2500, 157.3, 5000, 5000, 10100, 8000, 288, 537.6,
     "AMD Instinct MI355X data sheet (2025)", _QUOTED),
    ("tpu-v4", 275, 0, 0, 0, 275, 0, 1200, 34.4, 150, f"{_TPU}, TPU v4", f"{_GOOGLE}/v4"),
    ("tpu-v5e", 197, 0, 0, 0, 393, 0, 819, 16, 200, f"{_TPU}, TPU v5e", f"{_GOOGLE}/v5e"),
    ("tpu-v5p", 459, 0, 0, 0, 918, 0, 2765, 95, 300, f"{_TPU}, TPU v5p", f"{_GOOGLE}/v5p"),
    ("tpu-v6e", 918, 0, 0, 0, 1836, 0, 1638, 32, 400, f"{_TPU}, TPU v6e", f"{_GOOGLE}/v6e"),
    ("m1", 2.6, 2.6, 2.6, 0, 0, 0, 68.3, 16, 0, _APPLE, _NOT),
    ("m1-pro", 5.2, 5.2, 5.2, 0, 0, 0, 200, 32, 0, _APPLE, _PRESS),
    ("m1-max", 10.4, 10.4, 10.4, 0, 0, 0, 400, 64, 0, _APPLE, _PRESS),
    ("m1-ultra", 20.8, 20.8, 20.8, 0, 0, 0, 800, 128, 0, _APPLE, _PRESS),
    ("m2", 3.6, 3.6, 3.6, 0, 0, 0, 100, 24, 0, _APPLE, _PRESS),
    ("m2-pro", 6.8, 6.8, 6.8, 0, 0, 0, 200, 32, 0, _APPLE, _PRESS),
    ("m2-max", 13.6, 13.6, 13.6, 0, 0, 0, 400, 96, 0, _APPLE, _PRESS),
    ("m2-ultra", 27.2, 27.2, 27.2, 0, 0, 0, 800, 192, 0, _APPLE, _PRESS),
    ("m3-max", 14.2, 14.2, 14.2, 0, 0, 0, 400, 128, 0, _APPLE_RATE, _PRESS),
    ("m3-ultra", 28.4, 28.4, 28.4, 0, 0, 0, 819, 512, 0, _APPLE_RATE, _PRESS),
    ("m4", 4.6, 4.6, 4.6, 0, 0, 0, 120, 32, 0, _APPLE_RATE, _NOT),
    ("m4-pro", 9.2, 9.2, 9.2, 0, 0, 0, 273, 64, 0, _APPLE_RATE, _PRESS),
    ("m4-max", 18.4, 18.4, 18.4, 0, 0, 0, 546, 128, 0, _APPLE_RATE, _PRESS),
)  # fmt: skip

_FORMATS = ("bfloat16", "float16", "float32", "fp8", "int8", "fp4")


def _entry(
    name: str, rates: tuple[float, ...], bandwidth: float, memory: float, link: float,
    source: str, seen: str,
) -> Hardware:  # fmt: skip
    return Hardware(
        name=name,
        peak_flops=MappingProxyType(
            {kind: 1e12 * rate for kind, rate in zip(_FORMATS, rates, strict=True) if rate > 0}
        ),
        bandwidth=1e9 * bandwidth,
        memory_bytes=1e9 * memory,
        link_bandwidth=1e9 * link if link > 0 else None,
        link_latency_seconds=_NVLINK_SECONDS if link > 64 else _PCIE_SECONDS,
        source=source,
        seen=seen,
    )


CATALOGUE: Mapping[str, Hardware] = MappingProxyType(
    {row[0]: _entry(row[0], row[1:7], *row[7:]) for row in _ROWS}
)

# What people say when they do not say which variant.
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "a100": "a100-80gb", "h100": "h100-sxm", "gh200": "gh200-96gb", "trillium": "tpu-v6e",
        "3090": "rtx-3090", "4090": "rtx-4090", "5090": "rtx-5090",
        "rtx-pro-6000-blackwell": "rtx-pro-6000",
    }
)  # fmt: skip


def find_hardware(name: str) -> Hardware:
    """Returns the catalogue's entry of that name; case, spaces and underscores do not matter.

    Raises:
      ValueError: if the catalogue has no such entry; the message lists the names that it has.
    """
    key = name.strip().lower().replace(" ", "-").replace("_", "-").removeprefix("apple-")
    key = ALIASES.get(key, key)
    if key not in CATALOGUE:
        close = get_close_matches(key, [*CATALOGUE, *ALIASES], 1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise ValueError(f"gpu must be one of {', '.join(CATALOGUE)}, got {name}{hint}")
    return CATALOGUE[key]
