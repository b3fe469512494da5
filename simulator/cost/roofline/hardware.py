"""Accelerators: peak rates by number format, memory and link, with the source of each number.

catalogue.csv has a row for each accelerator: its name, and the short name if no variant is given;
teraoperations per second by number format, empty if not supported; GB/s and GB of its memory; GB/s
of its link one way; the maker's document, and the page where its numbers were read on 21 November
2026. Most pages quote the makers' documents, which could not be opened. Apple states no rates after
the M2: they are cores · 256 operations · clock, which no document confirms.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType

from simulator.numerics.arguments import non_negative

# A format that the matrix units lack is unpacked to 16 bits first.
_UNPACKED = {"fp4": ("fp8", "bfloat16", "float16"), "fp8": ("bfloat16", "float16"),
             "int8": ("bfloat16", "float16")}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hardware:
    """Peak rates, memory and link of one accelerator, with their source.

    name: name on the command line, in lower case.
    peak_flops: dense operations per second by number format (a name of `number_formats.COMPUTED`).
      "bfloat16", "float16", "fp8", "int8" and "fp4" are rates of the matrix units, without
      structured sparsity and accumulating in float32; "float32" is plain float32 arithmetic, which
      frameworks use unless set to round to TF32. Formats that the hardware lacks are absent.
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


# An all-reduce of a few kilobytes in a CUDA graph: 6 µs between two H100 (github.com/NVIDIA/nccl
# issue 1259), 20 µs between four V100 on PCIe (github.com/haohervchb/sglang-V100 pull request 2).
_NVLINK_SECONDS, _PCIE_SECONDS = 6e-6, 20e-6
_FORMATS = ("bfloat16", "float16", "float32", "fp8", "int8", "fp4")


def _rows() -> Iterator[dict[str, str]]:
    with Path(__file__).with_name("catalogue.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _entry(row: Mapping[str, str]) -> Hardware:
    link = float(row["link"] or 0)
    return Hardware(
        name=row["name"],
        peak_flops=MappingProxyType(
            {kind: 1e12 * float(row[kind]) for kind in _FORMATS if row[kind]}
        ),
        bandwidth=1e9 * float(row["bandwidth"]),
        memory_bytes=1e9 * float(row["memory"]),
        link_bandwidth=1e9 * link if link > 0 else None,
        link_latency_seconds=_NVLINK_SECONDS if link > 64 else _PCIE_SECONDS,
        source=row["source"],
        seen=row["seen"],
    )


CATALOGUE: Mapping[str, Hardware] = MappingProxyType({row["name"]: _entry(row) for row in _rows()})
ALIASES: Mapping[str, str] = MappingProxyType(
    {row["alias"]: row["name"] for row in _rows() if row["alias"]}
)


def find_hardware(name: str) -> Hardware:
    """Returns the catalogue's entry with that name; case, spaces and underscores are ignored.

    Raises ValueError if the catalogue has no such entry; the message lists its names.
    """
    key = name.strip().lower().replace(" ", "-").replace("_", "-").removeprefix("apple-")
    key = ALIASES.get(key, key)
    if key not in CATALOGUE:
        close = get_close_matches(key, [*CATALOGUE, *ALIASES], 1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise ValueError(f"gpu must be one of {', '.join(CATALOGUE)}, got {name}{hint}")
    return CATALOGUE[key]
