"""A catalogue of accelerators with the source of each number.

catalogue.csv has a row for each accelerator: its name, and the short name if no variant is given;
teraoperations per second by number format, empty if not supported; GB/s and GB of its memory; GB/s
of its link one way; the maker's document, and the page where its numbers were read on 21 November
2026. Most pages quote the makers' documents, which could not be opened. Apple states no rates after
the M2: they are cores · 256 operations · clock, which no document confirms.
"""

import csv
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType

from simulator.cost.hardware import Hardware

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
