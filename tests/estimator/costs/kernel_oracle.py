"""Kernel times as the library aiconfigurator-core computes them: what the packaged tables hold."""

import logging
from functools import cache
from typing import Any

from estimator.costs.kernel_tables import SERVERS, SYSTEMS

# Tokens take experts in turn, so that few tokens read as many experts as they choose.
ROUTING = "balanced"


class LibraryKernels:
    """The library's answers for one GPU and server, in seconds; None: no kernel was measured."""

    def __init__(self, gpu: str, server: str) -> None:
        self._engine, self._database = _engine(SYSTEMS[gpu], SERVERS[server])

    def product(self, *, rows: int, outputs: int, inputs: int, kind: str) -> float | None:
        import aiconfigurator_core.sdk.operations as ops
        from aiconfigurator_core.sdk import common

        operator = ops.GEMM("", 1, outputs, inputs, common.GEMMQuantMode[kind])
        return self._seconds(operator, rows)

    def experts(self, *, rows: int, sizes: tuple[int, ...], kind: str) -> float | None:
        """sizes: hidden size, inner size, experts of a token, experts, GPUs."""
        import aiconfigurator_core.sdk.operations as ops
        from aiconfigurator_core.sdk import common

        return self._seconds(ops.MoE("", 1, *sizes, 1, common.MoEQuantMode[kind], ROUTING, 1), rows)

    def attention(
        self, *, batch: int, context: int, heads: int, key_heads: int, head_size: int
    ) -> float | None:
        import aiconfigurator_core.sdk.operations as ops
        from aiconfigurator_core.sdk import common
        from aiconfigurator_core.sdk.operations.attention import resolve_lane_order

        cache_format = common.KVCacheQuantMode.bfloat16
        operator = ops.GenerationAttention(
            "", 1, heads, key_heads, cache_format, head_size=head_size
        )
        operator._lane_order = list(resolve_lane_order(self._database, None))
        return self._seconds(operator, batch, context)

    def all_reduce(self, *, rows: int, hidden: int, gpus: int) -> float | None:
        import aiconfigurator_core.sdk.operations as ops

        return self._seconds(ops.CustomAllReduce("", 1, hidden, gpus), rows)

    def _seconds(self, operator: Any, rows: int, context: int = 1) -> float | None:
        from aiconfigurator_core.sdk import errors
        from aiconfigurator_core.sdk.engine import build_ops_json

        try:
            [(_, milliseconds, *_)] = self._engine.evaluate_ops_json(
                build_ops_json([operator]), is_context=False, batch_size=rows, s=context, x=rows
            )
        except (
            errors.EmpiricalNotImplementedError,
            errors.InterpolationDataNotAvailableError,
            errors.MissingSystemFlopsError,
            errors.PerfDataNotAvailableError,
        ):
            return None
        return float(milliseconds) / 1e3


@cache
def _engine(system: str, server: str) -> tuple[Any, Any]:
    from aiconfigurator_core.sdk import perf_database
    from aiconfigurator_core.sdk.engine import EngineHandle

    # It reports on stderr which tables replace others.
    logging.getLogger("aiconfigurator_core").setLevel(logging.CRITICAL)
    slots = perf_database.get_version_slots(system, server)
    assert slots is not None
    database = perf_database.get_database_view(
        system, server, slots["current"], database_mode="SILICON"
    )
    return EngineHandle.for_database(database), database
