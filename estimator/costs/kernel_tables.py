"""Latencies of single kernels that NVIDIA measured, from the library aiconfigurator-core.

No other file knows the library (extra `kernels`; Apache-2.0; to be succeeded by aisimulate). It has
tables by GPU and server for products, experts, attention and all-reduces. Loading takes about a
second, so looked-up times are saved in the user's cache, by the library's version.
"""

import atexit
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from estimator.model_shapes.kept_counts import folder
from estimator.writing import write_whole
from simulator.cost.fitted.kernels import KernelTables

PACKAGE = "aiconfigurator-core"
# Tables of another release may have other keys and other numbers.
PINNED = "0.12"
INSTALL = "pip install 'specplan[kernels]'"
# Names of this project's catalogue and engines, and of the library's folders.
SYSTEMS: Mapping[str, str] = {
    "a100-80gb": "a100_sxm", "h100-sxm": "h100_sxm", "h200": "h200_sxm", "b200": "b200_sxm",
    "gb200": "gb200", "gb300": "gb300", "l40s": "l40s", "rtx-pro-6000": "rtx_pro_6000_server",
}  # fmt: skip
SERVERS: Mapping[str, str] = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "trtllm"}
# Where no server is named.
ANY_SERVER = "vllm"
# Tokens take experts in turn, so that few tokens read as many experts as they choose.
_ROUTING = "balanced"


def missing(gpu: str, engine: str | None) -> str | None:
    """Returns why no kernel times exist for a GPU and a server; None if they exist."""
    try:
        installed = version(PACKAGE)
    except PackageNotFoundError:
        return f"measured kernels need {INSTALL}"
    if installed.rsplit(".", 1)[0] != PINNED:
        return f"measured kernels need {PACKAGE} {PINNED}, got {installed}"
    if gpu not in SYSTEMS:
        return f"no kernels were measured on {gpu} (only on {', '.join(SYSTEMS)})"
    if engine is not None and engine not in SERVERS:
        return f"no kernels were measured for {engine} (only for {', '.join(SERVERS)})"
    return None


class MeasuredKernels(KernelTables):
    """Measured kernel times of one GPU and server, from the package aiconfigurator-core.

    Raises ValueError if the package has no tables for the GPU and the server.
    """

    def __init__(self, gpu: str, engine: str | None) -> None:
        why = missing(gpu, engine)
        if why is not None:
            raise ValueError(why)
        self._system, self._server = SYSTEMS[gpu], SERVERS[engine or ANY_SERVER]
        self._release = version(PACKAGE)
        name = f"{self._system}-{self._server}-{self._release}-measured.json"
        self._file = folder().parent / "kernels" / name
        self._times, self._unsaved = _read(self._file), False
        # Plans look times up until they end.
        atexit.register(self.save)

    @property
    def name(self) -> str:
        return f"{PACKAGE} {self._release}, {self._system}, {self._server}"

    def product(self, *, rows: int, outputs: int, inputs: int, stored: float) -> float:
        kind = _format_name(stored, self._system)
        return self._time(
            f"product {kind} {rows} {outputs} {inputs}",
            lambda ops, kinds: ops.GEMM("", 1, outputs, inputs, kinds.GEMMQuantMode[kind]),
            rows=rows,
        )

    def experts(
        self, *, rows: int, hidden: int, inner: int, count: int, active: int, gpus: int,
        stored: float,
    ) -> float:  # fmt: skip
        kind = _format_name(stored, self._system, routed=True)
        sizes = (hidden, inner, active, count, gpus, 1)
        return self._time(
            f"experts {_ROUTING} {kind} {rows} {sizes}",
            lambda ops, kinds: ops.MoE("", 1, *sizes, kinds.MoEQuantMode[kind], _ROUTING, 1),
            rows=rows,
        )

    def attention(
        self, *, batch: int, context: int, heads: int, key_heads: int, head_size: int
    ) -> float:
        return self._time(
            f"attention {batch} {context} {heads} {key_heads} {head_size}",
            lambda ops, kinds: ops.GenerationAttention(
                "", 1, heads, key_heads, kinds.KVCacheQuantMode.bfloat16, head_size=head_size
            ),
            rows=batch,
            context=context,
        )

    def all_reduce(self, *, rows: int, hidden: int, gpus: int) -> float:
        return self._time(
            f"all-reduce {rows} {hidden} {gpus}",
            lambda ops, _: ops.CustomAllReduce("", 1, hidden, gpus),
            rows=rows,
        )

    def save(self) -> None:
        """Writes the kernel times to the cache folder if there are new ones and it is writable."""
        if self._unsaved:
            with suppress(OSError, RuntimeError):
                self._file.parent.mkdir(parents=True, exist_ok=True)
                write_whole(self._file, msgspec.json.encode(self._times))
                self._unsaved = False

    def _time(
        self, key: str, operator: Callable[[Any, Any], Any], *, rows: int, context: int = 1
    ) -> float:
        if key not in self._times:
            self._times[key] = self._look_up(key, operator, rows=rows, context=context)
            self._unsaved = True
        if (found := self._times[key]) is None:
            raise ValueError(f"no kernels were measured like this: {self.name}, {key}")
        return found

    def _look_up(
        self, key: str, operator: Callable[[Any, Any], Any], *, rows: int, context: int
    ) -> float | None:
        import aiconfigurator_core.sdk.operations as ops
        from aiconfigurator_core.sdk import common, errors
        from aiconfigurator_core.sdk.engine import build_ops_json
        from aiconfigurator_core.sdk.operations.attention import resolve_lane_order

        engine, database = self._engine
        looked_up = operator(ops, common)
        if key.startswith("attention"):
            looked_up._lane_order = list(resolve_lane_order(database, None))
        try:
            [(_, milliseconds, _, _)] = engine.evaluate_ops_json(
                build_ops_json([looked_up]), is_context=False, batch_size=rows, s=context, x=rows
            )
        except (
            errors.EmpiricalNotImplementedError,
            errors.InterpolationDataNotAvailableError,
            errors.MissingSystemFlopsError,
            errors.PerfDataNotAvailableError,
        ):
            return None
        return float(milliseconds) / 1e3

    @cached_property
    def _engine(self) -> tuple[Any, Any]:
        """The objects of aiconfigurator-core that compute kernel times and hold measured times."""
        from aiconfigurator_core.sdk import perf_database
        from aiconfigurator_core.sdk.engine import EngineHandle

        # It reports on stderr which tables replace others.
        logging.getLogger("aiconfigurator_core").setLevel(logging.CRITICAL)
        slots = perf_database.get_version_slots(self._system, self._server)
        assert slots is not None
        database = perf_database.get_database_view(
            self._system, self._server, slots["current"], database_mode="SILICON"
        )
        return EngineHandle.for_database(database), database


def _read(file: Path) -> dict[str, float | None]:
    """Returns the kernel times that `save` wrote; {} without a readable file."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, float | None])
    except (OSError, RuntimeError, ValueError, msgspec.MsgspecError):
        return {}


def _format_name(bytes_per_weight: float, system: str, *, routed: bool = False) -> str:
    """Returns aiconfigurator-core's name for a number format; routed: for weights of experts."""
    if bytes_per_weight > 1.5:
        return "bfloat16"
    if bytes_per_weight > 0.9:
        return "int8_wo" if system == "a100_sxm" and not routed else "fp8"
    if 0.55 < bytes_per_weight < 0.6:
        return "nvfp4"
    return "int4_wo"
