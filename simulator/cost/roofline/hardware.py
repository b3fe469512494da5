"""Accelerators: peak rates by number format, memory and link, with the source of each number.

catalogue.csv has a row for each accelerator: its name, and its other names, separated by ";";
teraoperations per second by number format, empty if not supported; GB/s and GB of its memory; GB/s
of its link one way; the maker's document, and the page where its numbers were read in November
2026. Most pages quote the makers' documents, which could not be opened. Apple states no rates after
the M2: they are cores · 256 operations · clock, which no document confirms.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from simulator.numerics.arguments import integer, non_negative

# Formats in which matrix units multiply, the widest first.
COMPUTED = ("float32", "bfloat16", "float16", "fp8", "int8", "fp4")
# A format that the matrix units lack is unpacked to 16 bits first.
_UNPACKED = {"fp4": ("fp8", "bfloat16", "float16"), "fp8": ("bfloat16", "float16"),
             "int8": ("bfloat16", "float16")}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hardware:
    """Peak rates, memory and link of one accelerator, with their source.

    name: name on the command line, in lower case.
    peak_flops: dense operations per second by supported number format (a name of COMPUTED), of the
      matrix units without structured sparsity, accumulating in float32. "float32" is plain float32
      arithmetic, which frameworks use unless set to round to TF32.
    bandwidth: memory bandwidth in bytes per second.
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
        """Returns peak operations/s in a format or, if unsupported, in its unpacked format."""
        for name in (computed_in, *_UNPACKED.get(computed_in, ())):
            if name in self.peak_flops:
                return self.peak_flops[name]
        raise ValueError(
            f"dtype must be one that {self.name} computes in "
            f"({', '.join(self.peak_flops)}), got {computed_in}"
        )


def own_hardware(*, flops: float, bandwidth: float, memory_bytes: float) -> Hardware:
    """Returns an accelerator that the catalogue lacks, with one rate for every 16-bit format.

    flops: dense 16-bit operations per second; bandwidth in bytes per second.
    """
    for name, value in (("flops", flops), ("bandwidth", bandwidth), ("memory", memory_bytes)):
        if float(non_negative(f"gpu {name}", value)) == 0:
            raise ValueError(f"gpu {name} must be above 0, got 0")
    rates, stated = {"bfloat16": flops, "float16": flops}, "stated by the user"
    return Hardware("own", rates, bandwidth, memory_bytes, None, 0.0, stated, stated)


# An all-reduce of a few kilobytes in a CUDA graph: 6 µs between two H100 (github.com/NVIDIA/nccl
# issue 1259), 20 µs between four V100 on PCIe (github.com/haohervchb/sglang-V100 pull request 2).
_NVLINK_SECONDS, _PCIE_SECONDS = 6e-6, 20e-6
_FORMATS = ("bfloat16", "float16", "float32", "fp8", "int8", "fp4")


_LINES = Path(__file__).with_name("catalogue.csv").read_text("utf-8").splitlines()
_ROWS = list(csv.DictReader(_LINES))


def _entry(row: Mapping[str, str]) -> Hardware:
    link = float(row["link"] or 0)
    return Hardware(
        name=row["name"],
        peak_flops={
            number_format: 1e12 * float(row[number_format])
            for number_format in _FORMATS
            if row[number_format]
        },
        bandwidth=1e9 * float(row["bandwidth"]),
        memory_bytes=1e9 * float(row["memory"]),
        link_bandwidth=1e9 * link if link > 0 else None,
        link_latency_seconds=_NVLINK_SECONDS if link > 64 else _PCIE_SECONDS,
        source=row["source"],
        seen=row["seen"],
    )


CATALOGUE: Mapping[str, Hardware] = {row["name"]: _entry(row) for row in _ROWS}
ALIASES: Mapping[str, str] = {
    alias: row["name"] for row in _ROWS for alias in row["alias"].split(";") if alias
}
# Words that say nothing, words for others, and series that owners of a card leave out.
_MAKERS = frozenset({"nvidia", "geforce", "amd", "radeon", "intel", "apple", "gpu"})
_SAME_WORDS = {"mobile": "laptop", "notebook": "laptop"}
_SERIES = re.compile("rtx|rx|arcpro|arc")
# Letters of a series such as h100 or a10g, of which another letter names another card.
SHORT_SERIES = 2


def _spelling(name: str) -> str:
    """Returns letters and digits of a name, without its maker: "RTX-4070" is "rtx4070"."""
    words = re.findall("[a-z0-9]+", name.lower())
    return "".join(_SAME_WORDS.get(word, word) for word in words if word not in _MAKERS)


_NAMES = {_spelling(name): name for name in (*CATALOGUE, *ALIASES)}
_NAMES = {_SERIES.sub("", spelling, count=1): name for spelling, name in _NAMES.items()} | _NAMES


def _nearest(spelling: str) -> list[str]:
    """Returns up to three names that may be meant, the most similar first.

    Another digit, or another letter of a short series, is another card. So signs may be swapped, or
    one too many or few.
    """
    near: dict[str, str] = {}
    for similar in get_close_matches(spelling, _NAMES, len(_NAMES), 0.7):
        typed, known = (re.sub("[^0-9]", "", name) for name in (spelling, similar))
        series, letters = (re.sub("[^a-z]", "", name) for name in (spelling, similar))
        if _mistyped(typed, known) and (len(letters) > SHORT_SERIES or _mistyped(series, letters)):
            near.setdefault(ALIASES.get(_NAMES[similar], _NAMES[similar]), _NAMES[similar])
    return list(near.values())[:3]


def _mistyped(typed: str, known: str) -> bool:
    """Returns whether signs of a known text are swapped, or one is too many or too few."""
    one_off = abs(len(known) - len(typed)) == 1 and (known in typed or typed in known)
    return one_off or sorted(known) == sorted(typed)


def find_hardware(name: str) -> Hardware:
    """Returns the catalogue's entry with that name, however case, spaces and maker are spelt."""
    spelling = _spelling(name)
    if spelling not in _NAMES:
        if near := _nearest(spelling):
            hint = f"(did you mean {' or '.join(near)}?)"
            raise ValueError(f"gpu must be a name of the catalogue, got {name} {hint}")
        raise ValueError(
            f"gpu must be a name of the catalogue, got {name}: specplan plan --gpu list prints all "
            "names; for another card give `gpu_flops`, `gpu_bandwidth` and `gpu_memory`"
        )
    name_of_chip = _NAMES[spelling]
    return CATALOGUE[ALIASES.get(name_of_chip, name_of_chip)]


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How weights are stored, and the narrowest format in which they can be multiplied.

    group: number of values that share scales, at least 1.
    scale_bytes: bytes of the scales (and zero points) of one group.
    computed_in: number format of products (in COMPUTED), unless activations have a wider format.
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
    """Returns the 4-bit format of AWQ and GPTQ; zero_points: whether each group has one."""
    return NumberFormat("int4", 4, group, scale_bytes + 0.5 * zero_points, "fp4")


FORMATS: Mapping[str, NumberFormat] = {
    form.name: form
    for form in (
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


def find_format(name: str) -> NumberFormat:
    """Returns the number format with that name."""
    if name not in FORMATS:
        raise ValueError(f"dtype must be one of {', '.join(FORMATS)}, got {name}")
    return FORMATS[name]
