"""Flags of a server for one replica: how GPUs share the work, its limits, and its drafts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engines.kind import Drafted
from simulator.traffic.fleet import Fleet
from specplan.reports.first_runs import commented, first_line
from specplan.reports.flags import export

# Flags by what they set; --quantization takes the format, the others a number.
_FLAGS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "vllm": {
            "tp": "--tensor-parallel-size", "dp": "--data-parallel-size",
            "slots": "--max-num-seqs", "chunk": "--max-num-batched-tokens",
            "dtype": "--quantization",
        },
        "sglang": {
            "tp": "--tp-size", "ep": "--ep-size", "dp": "--dp-size",
            "slots": "--max-running-requests", "chunk": "--chunked-prefill-size",
            "dtype": "--quantization",
        },
    }
)  # fmt: skip
# Flags that limit requests decoded together, by server.
SLOTS = {server: flags["slots"] for server, flags in _FLAGS.items()}


def replica_flags(server: str, fleet: Fleet, draft: Drafted) -> str:
    """Returns the flags of each replica; server: one of `sized_for`.

    They are comments if there is a draft, because no run of it is known.
    A number format is written only if it is fp8: other formats are the checkpoint's own.
    """
    replica, flags = fleet.replica, _FLAGS[server]
    served = replica.pair.server(fleet.gamma)
    parts = [f"{flags['tp']} {replica.tp}"]
    if replica.dp > 1:
        parts.append(f"{flags['dp']} {replica.dp}")
    if replica.ep > 1:
        ep = flags.get("ep")
        parts.append("--enable-expert-parallel" if ep is None else f"{ep} {replica.ep}")
    # Servers limit each group of GPUs.
    parts.append(f"{flags['slots']} {-(-served.slots // replica.dp)}")
    if served.prompts.chunk is not None:
        parts.append(f"{flags['chunk']} {served.prompts.chunk // replica.dp}")
    if replica.dtype == "fp8":
        parts.append(f"{flags['dtype']} fp8")
    if fleet.gamma == 0:
        return " ".join(parts)
    every = f"{' '.join(parts)}\n{export(server, gamma=fleet.gamma, draft=draft)}"
    top = first_line("Not run yet", f"K = {fleet.gamma}, and K = 0 without the draft's line,")
    return f"{top}\n{commented(every)}"


def sized_for() -> tuple[str, ...]:
    """Returns the names of the servers whose flags for a replica are known."""
    return tuple(_FLAGS)
