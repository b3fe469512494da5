"""Runs in which a server's own controller chose K: `--controller batch=32,tpot=4.1`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from specplan.options.declared import rare
from specplan.options.runs import parse_run
from specplan.options.values import callback

_REFUSED = ("gamma", "K", "k", "file", "length", "rates", "accepted", "tokens", "speculating")


@callback
def parse_controlled(values: tuple[str, ...]) -> tuple[Any, ...]:
    """Returns the runs of --controller, whose values have keys of --run, without draft lengths."""
    runs = []
    for value in values:
        for part in value.split(","):
            key = part.partition("=")[0].strip()
            if key in _REFUSED:
                raise ValueError(
                    f"{key} must not be given where the server chooses K, got {value!r}: the keys "
                    "are batch, context, error, and one of tpot, tps and total_tps"
                )
        runs.append(parse_run(f"gamma=0,{value}"))
    return tuple(runs)


@dataclass(frozen=True)
class ControllerOptions:
    """Measurements of a server that chooses K by itself.

    controller: A run in which the server chose K (adaptive verification or steps, its own
      schedule): batch, and tpot, tps or total_tps; context, error. It is compared with the best
      fixed K and the advised schedule of --run. Repeatable.
    """

    # Each one is a simulator.cost.fitted.runs.Run; help must not wait for that import.
    controller: tuple[Any, ...] | None = rare(
        "--controller", multiple=True, callback=parse_controlled, metavar="KEY=VALUE,..."
    )
