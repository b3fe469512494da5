"""Writes the packaged tables of kernel times from the library aiconfigurator-core.

    python -m pip install --no-deps --target .venv/kernels aiconfigurator-core==0.12.0
    PYTHONPATH=.venv/kernels python scripts/kernel_tables.py [SYSTEM...]

The library (Apache-2.0) has latencies that NVIDIA measured, and an engine that interpolates them.
The engine computes the latency of every measured shape, and this script writes them to
estimator/costs/kernels, a file for each GPU (layout: estimator/costs/kernel_tables.py), with the
checksums in SHA256SUMS.
"""

import hashlib
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from io import BytesIO
from typing import Any

import numpy as np

from estimator.costs.kernel_tables import FOLDER, PACKAGE, SERVERS, SYSTEMS
from estimator.costs.latencies import coded

# Tokens in a pass beyond these are not looked up. The last is held beyond.
MOST_ROWS = 8192
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 8192)
CONTEXTS = (*(2**power for power in range(18)), 2**20)
# In addition to measured head counts; the engine extrapolates to these.
HEADS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128)
MESSAGES = tuple(2**power for power in range(7, 27))
GPUS = (2, 4, 8, 16, 32)
# How the library draws the experts of a token, as the reader assumes: in turn.
ROUTING = "balanced"
# Operators in one question.
_TOGETHER = 2000

Answers = Callable[..., Mapping[str, float]]


def main(systems: Sequence[str]) -> None:
    logging.disable(logging.CRITICAL)
    FOLDER.mkdir(exist_ok=True)
    for gpu in systems or SYSTEMS:
        arrays: dict[str, np.ndarray] = {"release": np.array(version(PACKAGE))}
        for server in SERVERS:
            for name, array in _tables(SYSTEMS[gpu], SERVERS[server]):
                arrays[f"{server}/{name}"] = array
        file = BytesIO()
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        (FOLDER / f"{gpu}.npz").write_bytes(file.getvalue())
        print(f"{gpu}: {len(file.getvalue()) / 1e6:.2f} MB, {len(arrays)} arrays", flush=True)
    sums = ""
    for path in sorted(FOLDER.glob("*.npz")):
        sums += f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
    (FOLDER / "SHA256SUMS").write_text(sums)


def _tables(system: str, server: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yields names and arrays of all tables for one system and server of the library."""
    import aiconfigurator_core.sdk.operations as ops
    from aiconfigurator_core.sdk import common, perf_database
    from aiconfigurator_core.sdk.engine import EngineHandle, build_ops_json
    from aiconfigurator_core.sdk.operations.attention import resolve_lane_order

    slots = perf_database.get_version_slots(system, server)
    database = perf_database.get_database_view(
        system, server, slots["current"], database_mode="SILICON"
    )
    engine = EngineHandle.for_database(database)
    lanes = list(resolve_lane_order(database, None))

    def ask(operators: Mapping[str, Any], *, rows: int, context: int = 1) -> Mapping[str, float]:
        """Returns seconds by operator's name; operators without an answer are left out."""
        seconds_by_name: dict[str, float] = {}
        names = list(operators)
        for start in range(0, len(names), _TOGETHER):
            seconds_by_name |= asked(names[start : start + _TOGETHER], operators, rows, context)
        return seconds_by_name

    def asked(
        names: list[str], operators: Mapping[str, Any], rows: int, context: int
    ) -> dict[str, float]:
        try:
            answers = engine.evaluate_ops_json(
                build_ops_json([operators[name] for name in names]),
                is_context=False, batch_size=rows, s=context, x=rows,
            )  # fmt: skip
        except Exception:  # the library's, of many kinds: some operator has no answer
            if len(names) == 1:
                return {}
            half = len(names) // 2
            first = asked(names[:half], operators, rows, context)
            return first | asked(names[half:], operators, rows, context)
        return {name: milliseconds / 1e3 for name, milliseconds, *_ in answers}

    roof = database.system_spec["gpu"]
    ops.GEMM.load_data(database)
    for kind, by_rows in database._gemm_data.items():
        sites = dict.fromkeys(
            (n, k) for by_n in by_rows.values() for n, by_k in by_n.items() for k in by_k
        )
        grid = sorted(rows for rows in by_rows if rows <= MOST_ROWS)
        products = {f"{n} {k}": ops.GEMM(f"{n} {k}", 1, n, k, kind) for n, k in sites}
        yield from _table(f"product/{kind.name}", list(sites), grid, products, ask)
        yield f"product/{kind.name}/roof", np.array([
            kind.value.memory / roof["mem_bw"], 2 / roof[f"{kind.value.compute_dtype}_tc_flops"]
        ])  # fmt: skip

    ops.GenerationAttention.load_data(database)
    cache = common.KVCacheQuantMode.bfloat16
    measured = database._generation_attention_data[cache]
    for key_heads, by_size in measured.items():
        for size, by_window in by_size.items():
            if 0 not in by_window:
                continue
            others = (count for count in HEADS if count % max(key_heads, 1) == 0)
            heads = sorted({*by_window[0], *others})
            attentions = {}
            for count in heads:
                operator = ops.GenerationAttention(
                    f"{count}", 1, count, key_heads or count, cache, head_size=size
                )
                operator._lane_order = lanes
                attentions[f"{count}"] = operator
            shape = (len(heads), len(BATCHES), len(CONTEXTS))
            seconds = np.full(shape, np.nan)
            for i, batch in enumerate(BATCHES):
                for j, context in enumerate(CONTEXTS):
                    by_name = ask(attentions, rows=batch, context=context)
                    seconds[:, i, j] = [by_name.get(name, np.nan) for name in attentions]
            assert not np.isnan(seconds).any(), (system, server, key_heads, size)
            yield f"attention/{key_heads}-{size}", coded(seconds)
            yield f"attention/{key_heads}-{size}/at", np.array(heads, "u4")
    yield "attention/batches", np.array(BATCHES, "u4")
    yield "attention/contexts", np.array(CONTEXTS, "u4")

    ops.MoE.load_data(database)
    for kind, by_routing in database._moe_data.items():
        experts = {}
        tokens: set[int] = set()
        for path, curve in _leaves(by_routing.get(ROUTING, {}), 6):
            active, count, hidden, inner, tp, ep = path
            name = " ".join(map(str, path))
            experts[path] = ops.MoE(name, 1, hidden, inner, active, count, tp, ep, kind, ROUTING, 1)
            tokens |= set(curve)
        named = {" ".join(map(str, path)): operator for path, operator in experts.items()}
        grid = sorted(token for token in tokens if token <= MOST_ROWS)
        yield from _table(f"experts/{kind.name}", list(experts), grid, named, ask)

    ops.MoEAllToAll.load_data(database)
    yield from _all_to_all(database._moe_a2a_data or {})

    reduces = {f"{gpus}": ops.CustomAllReduce(f"{gpus}", 1, 1, gpus) for gpus in GPUS}
    sides = [(gpus,) for gpus in GPUS]
    yield from _table("all-reduce", sides, list(MESSAGES), reduces, ask)


def _all_to_all(measured: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the time to send tokens to their experts and back, by the fastest measured way.

    Its sides: GPUs, hidden size, experts of a token, experts; its rows: tokens on each GPU.
    """
    ways: dict[tuple[int, ...], list[dict[int, float]]] = {}
    for phases in measured.values():
        for kind in phases["dispatch"]:
            if getattr(kind, "name", kind) not in ("default", "bfloat16"):
                continue
            for path, curve in _leaves(phases["dispatch"][kind], 6):
                parts = [curve]
                for phase in (phase for phase in phases if phase != "dispatch"):
                    back = dict(_leaves(phases[phase].get(kind, {}), 6))
                    # Multiprocessors of the second phase may differ: then the first of its shapes.
                    like = (back[other] for other in back if other[:5] == path[:5])
                    parts.append(back.get(path) or next(like, {}))
                common = set.intersection(*(set(part) for part in parts))
                total = {
                    tokens: sum(part[tokens]["latency"] for part in parts) / 1e3
                    for tokens in sorted(common)
                }
                gpus, _, hidden, active, count, _ = path
                if total:
                    ways.setdefault((gpus, hidden, active, count), []).append(total)
    grid = sorted({tokens for way in ways.values() for curve in way for tokens in curve})
    grid = [tokens for tokens in grid if tokens <= MOST_ROWS]
    if not ways:
        return
    seconds = []
    for curves in ways.values():
        times = [
            np.interp(grid, list(curve), list(curve.values()), left=np.nan, right=np.nan)
            for curve in curves
        ]
        fastest = np.fmin.reduce(times)
        known = ~np.isnan(fastest)
        last = np.flatnonzero(known)[-1]
        filled = np.interp(grid, np.array(grid)[known], fastest[known])
        seconds.append(filled * np.maximum(np.array(grid) / grid[last], 1.0))
    yield "all-to-all", coded(seconds)
    yield "all-to-all/at", np.array(list(ways), "u4")
    yield "all-to-all/rows", np.array(grid, "u4")


def _leaves(table: Mapping[Any, Any], depth: int) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yields the keys on the way to each table at a depth, with that table."""
    if depth == 0:
        yield (), table
        return
    for key, inner in table.items():
        for path, leaf in _leaves(inner, depth - 1):
            yield (key, *path), leaf


def _table(
    name: str, sides: list[tuple[int, ...]], grid: list[int], operators: Mapping[str, Any],
    ask: Answers,
) -> Iterator[tuple[str, np.ndarray]]:  # fmt: skip
    """Yields the times of operators (one for each of `sides`) at each number of rows of a grid."""
    columns = [ask(operators, rows=rows) for rows in grid]
    seconds = np.array(
        [[column.get(operator, np.nan) for column in columns] for operator in operators]
    ).reshape(len(operators), len(grid))
    known = ~np.isnan(seconds).any(axis=1)
    if known.any():
        yield name, coded(seconds[known])
        yield f"{name}/at", np.array(sides, "u4")[known]
        yield f"{name}/rows", np.array(grid, "u4")


if __name__ == "__main__":
    main(sys.argv[1:])
