"""Latencies of single kernels that NVIDIA measured, from packaged tables.

kernels/ has a file of arrays for each GPU, made by scripts/kernel_tables.py from the library
aiconfigurator-core (Apache-2.0, kernels/NOTICE). For each server it has a table of products by
number format, of experts by number format, of attention by key heads and head size, of all-reduces
and of the ways to experts on other GPUs and back. A table is a curve of latencies over rows for
each measured shape; between its points latencies are interpolated linearly, beyond the last the
share of the peak rate is held. Products of other shapes take the mean share of the four nearest
shapes. Only looked-up tables are read.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.costs.latencies import Curves, decoded, on_grid
from simulator.cost.fitted.kernel_tables import KernelTables

PACKAGE = "aiconfigurator-core"
RELEASE = "0.12.0"
FOLDER = Path(__file__).with_name("kernels")
# Names of this project's catalogue and engines, and of the library's folders.
SYSTEMS: Mapping[str, str] = {
    "a100-80gb": "a100_sxm", "h100-sxm": "h100_sxm", "h200": "h200_sxm", "b200": "b200_sxm",
    "gb200": "gb200", "gb300": "gb300", "l40s": "l40s", "rtx-pro-6000": "rtx_pro_6000_server",
}  # fmt: skip
SERVERS: Mapping[str, str] = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "trtllm"}
REREADING = ("a100-80gb", "l40s")  # where vLLM's attention is FlashAttention 2
# vLLM captures the pieces of a draft's pass between its attentions (its issue 45258), which take
# 0.42 ms more than a whole graph of the 28 layers of Qwen2.5-1.5B (its pull request 20059).
PIECES_SECONDS = 15e-6
# Where no server is named.
ANY_SERVER = "vllm"
# Sizes of heads that were measured; times of others lie between the nearest two.
_HEAD_SIZES = (64, 128, 192, 256, 512)
# Shapes whose measured shares of the peak rate are averaged for another shape, and how far (in
# doublings of its sides) the nearest may be.
_NEAREST, _FARTHEST = 4, 2.0
Near = tuple[tuple[tuple[int, ...], float], ...]


def missing(gpu: str, engine: str | None) -> str | None:
    """Returns why no kernel times exist for a GPU and a server; None if they exist."""
    if gpu not in SYSTEMS:
        return f"no kernels were measured on {gpu} (only on {', '.join(SYSTEMS)})"
    if engine is not None and engine not in SERVERS:
        return f"no kernels were measured for {engine} (only for {', '.join(SERVERS)})"
    return None


class MeasuredKernels(KernelTables):
    """Measured kernel times of one GPU and server.

    Raises ValueError if no kernels were measured for the GPU and the server.
    """

    def __init__(self, gpu: str, engine: str | None) -> None:
        why = missing(gpu, engine)
        if why is not None:
            raise ValueError(why)
        self._gpu, self._server = gpu, engine or ANY_SERVER

    @property
    def name(self) -> str:
        return f"{PACKAGE} {RELEASE}, {SYSTEMS[self._gpu]}, {SERVERS[self._server]}"

    @property
    def rereads(self) -> bool:
        return self._server == "vllm" and self._gpu in REREADING

    @property
    def drafting_layer(self) -> float:
        return PIECES_SECONDS if self._server == "vllm" else 0.0

    def product(self, *, rows: int, outputs: int, inputs: int, stored: float) -> float:
        table, sides = f"product/{_format_name(stored, SYSTEMS[self._gpu])}", (outputs, inputs)
        curves = self._curves(table)
        if sides in curves.shapes and rows <= curves.rows[-1]:
            return curves.at(sides, rows)
        roof, near = _nearest(self._gpu, f"{self._server}/{table}", sides)
        if not near:
            raise self._unmeasured(f"{table} {sides}")
        measured = min(rows, int(curves.rows[-1]))
        share = weights = 0.0
        for shape, weight in near:
            share += weight * _roof_seconds(roof, measured, shape) / curves.at(shape, measured)
            weights += weight
        return _roof_seconds(roof, rows, sides) / (share / weights)

    def experts(
        self, *, rows: int, hidden: int, inner: int, count: int, active: int,
        gpus: tuple[int, int], stored: float,
    ) -> float:  # fmt: skip
        form = _format_name(stored, SYSTEMS[self._gpu], routed=True)
        shape = (active, count, hidden, inner, *gpus)
        blocks = f"experts/{form}_block"  # one scale for each block of weights
        scaled = not self._has(f"experts/{form}", shape) and self._has(blocks, shape)
        return self._measured(blocks if scaled else f"experts/{form}", shape, rows)

    def attention(
        self, *, batch: int, context: int, heads: int, key_heads: int, head_size: int
    ) -> float:
        below = max((size for size in _HEAD_SIZES if size <= head_size), default=head_size)
        above = min((size for size in _HEAD_SIZES if size >= head_size), default=head_size)
        seconds = []
        for size in dict.fromkeys((below, above)):
            name = f"attention/{0 if key_heads == heads else key_heads}-{size}"
            try:
                grid = _grid(self._gpu, self._server, name)
            except KeyError:
                what = f"attention of {key_heads} key heads of {head_size}"
                raise self._unmeasured(what) from None
            seconds.append(on_grid(*grid, (heads, batch, context)))
        share = (head_size - below) / (above - below) if above > below else 0.0
        return seconds[0] * (1 - share) + seconds[-1] * share

    def all_to_all(self, *, rows: int, hidden: int, count: int, active: int, gpus: int) -> float:
        return self._measured("all-to-all", (gpus, hidden, active, count), rows)

    def all_reduce(self, *, rows: int, hidden: int, gpus: int) -> float:
        return 0.0 if gpus == 1 else self._measured("all-reduce", (gpus,), rows * hidden)

    def _measured(self, table: str, shape: tuple[int, ...], rows: int) -> float:
        curves = self._curves(table)
        if shape not in curves.shapes:
            raise self._unmeasured(f"{table} {shape}")
        return curves.at(shape, rows)

    def _has(self, table: str, shape: tuple[int, ...]) -> bool:
        try:
            return shape in self._curves(table).shapes
        except ValueError:
            return False

    def _curves(self, table: str) -> Curves:
        try:
            return _curves(self._gpu, f"{self._server}/{table}")
        except KeyError:
            raise self._unmeasured(table) from None

    def _unmeasured(self, what: str) -> ValueError:
        return ValueError(f"no kernels were measured like this: {self.name}, {what}")


@cache
def _arrays(gpu: str, names: Sequence[str]) -> tuple[NDArray[Any], ...]:
    """Returns arrays of a GPU's file; one that the file lacks raises KeyError."""
    with np.load(FOLDER / f"{gpu}.npz", allow_pickle=False) as file:
        return tuple(file[name] for name in names)


@cache
def _latencies(gpu: str, name: str) -> NDArray[np.float64]:
    return decoded(_arrays(gpu, (name,))[0])


@cache
def _grid(gpu: str, server: str, name: str) -> tuple[list[list[int]], NDArray[np.float64]]:
    """Returns the heads, batches and contexts at which an attention was measured, and its times."""
    axes = (f"{name}/at", "attention/batches", "attention/contexts")
    named = (*(f"{server}/{axis}" for axis in axes), f"{server}/{name}")
    *measured, _ = _arrays(gpu, named)
    return [axis.tolist() for axis in measured], _latencies(gpu, named[-1])


@cache
def _curves(gpu: str, name: str) -> Curves:
    sides, rows = _arrays(gpu, (f"{name}/at", f"{name}/rows"))
    shapes = {tuple(pair): position for position, pair in enumerate(sides.tolist())}
    return Curves(shapes, rows.astype(np.float64).tolist(), _latencies(gpu, name))


@cache
def _nearest(gpu: str, table: str, sides: tuple[int, int]) -> tuple[list[float], Near]:
    """Returns the table's roof, and the nearest measured shapes with their weights."""
    roof = _arrays(gpu, (f"{table}/roof",))[0].tolist()
    shapes = list(_curves(gpu, table).shapes)
    apart = np.log2(shapes) - np.log2(sides)
    distances = np.linalg.norm(apart, axis=1)
    within = distances <= _FARTHEST
    if not within.any():
        # A side longer than any measured one grows in proportion: an output matrix has one.
        beyond = (apart < 0).all(axis=0)
        within = np.linalg.norm(apart[:, ~beyond], axis=1) <= _FARTHEST
        if beyond.sum() != 1 or not within.any() or (apart > 0).all(axis=0).any():
            return roof, ()
    order = np.argsort(np.where(within, distances, np.inf), kind="stable")[:_NEAREST]
    weights = (1 / (distances * distances + 1e-12)).tolist()
    return roof, tuple((shapes[i], weights[i]) for i in order if within[i])


def _roof_seconds(roof: Sequence[float], rows: int, shape: tuple[int, ...]) -> float:
    """Returns a product's least time; roof: seconds per value moved and per multiplication."""
    outputs, inputs = shape
    moved = rows * outputs + rows * inputs + outputs * inputs
    return max(roof[0] * moved, roof[1] * rows * outputs * inputs)


def _format_name(bytes_per_weight: float, system: str, *, routed: bool = False) -> str:
    """Returns aiconfigurator-core's name for a number format; routed: for weights of experts."""
    if bytes_per_weight > 1.5:
        return "bfloat16"
    if bytes_per_weight > 0.9:
        return "int8_wo" if system == "a100_sxm" and not routed else "fp8"
    if 0.55 < bytes_per_weight < 0.6:
        return "nvfp4"
    if routed and 0.525 < bytes_per_weight < 0.54:
        return "w4a16_mxfp4"
    return "int4_wo"
