"""Compares published decoding speeds with the roofline's predictions.

    python benchmarks/roofline.py            # the table of docs/roofline.md
    python benchmarks/roofline.py --fit      # fits the roofline's two constants

benchmarks/published_decoding.json has the measurements: model, GPU, number format, batch, mean
tokens in the cache, tokens per second, and source. The time of a step is the time at the roofs over
an efficiency, plus a time per layer, plus the all-reduces. Efficiency and time per layer minimise
the mean absolute error in logarithms over a grid (results: simulator/cost/roofline/forward.py).
Takes a minute and needs no model.
"""

import argparse
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from estimator.model_shapes.kept_counts import count_once
from estimator.model_shapes.shape import shape_of
from simulator.cost.roofline.forward import (
    DEFAULT_EFFICIENCY,
    DEFAULT_LAYER_SECONDS,
    forward_seconds,
)
from simulator.cost.roofline.hardware import find_hardware
from simulator.cost.roofline.shapes import ModelShape
from simulator.cost.roofline.sharing import Conditions

PUBLISHED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "published_decoding.json").read_text(encoding="utf-8")
)
GROUPS_OF_32 = {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": False}


@dataclass(frozen=True)
class Row:
    """One measurement, and the parts of the roofline's prediction in seconds per step.

    measured: the published row.
    roof_seconds: time at the roofs of computation and memory.
    agreeing_seconds: time of all-reduces.
    layers: number of the model's layers.
    """

    measured: dict[str, Any]
    roof_seconds: float
    agreeing_seconds: float
    layers: int

    @property
    def seconds(self) -> float:
        """Measured seconds per step."""
        return float(self.measured["batch"] / self.measured["tokens_per_second"])

    def predicted_seconds(self, efficiency: float, layer_seconds: float) -> float:
        """Returns the roofline's seconds per step."""
        fixed = self.layers * layer_seconds + self.agreeing_seconds
        return self.roof_seconds / efficiency + fixed

    @property
    def ratio(self) -> float:
        """Measured over predicted tokens per second, at the defaults."""
        return self.predicted_seconds(DEFAULT_EFFICIENCY, DEFAULT_LAYER_SECONDS) / self.seconds


@cache
def shape(model: str, dtype: str, activations: str | None) -> ModelShape:
    config = dict(PUBLISHED["models"][model], dtype="bfloat16")
    if dtype == "int4-32":
        return shape_of(config | {"quantization_config": GROUPS_OF_32}, count=count_once)
    return shape_of(config, dtype=dtype, activations=activations, count=count_once)


def compare(measured: dict[str, Any]) -> Row:
    """Returns a measurement with the parts of its prediction."""
    counted = shape(measured["model"], measured["dtype"], measured["activations"])

    def seconds(efficiency: float) -> float:
        return float(
            forward_seconds(
                counted,
                find_hardware(measured["gpu"]),
                new_tokens=1,
                context=measured["context"],
                batch=measured["batch"],
                conditions=Conditions(tp=measured["tp"], efficiency=efficiency),
            )
        )

    # seconds = roofs / efficiency + all-reduces: two efficiencies give both parts.
    at_roofs = seconds(0.5) - seconds(1.0)
    return Row(measured, at_roofs, seconds(1.0) - at_roofs, counted.layers)


def fit(rows: list[Row]) -> tuple[float, float]:
    """Returns efficiency and seconds per layer with the least mean error in logarithms."""

    def error(candidate: tuple[float, float]) -> float:
        ratios = [row.predicted_seconds(*candidate) / row.seconds for row in rows]
        return float(np.abs(np.log(ratios)).mean())

    grid = [(e / 50, 2e-6 * o) for e in range(15, 51) for o in range(61)]
    return min(grid, key=error)


def markdown(rows: list[Row]) -> str:
    """Returns the rows as a table."""
    names = ("model", "GPU", "format", "batch", "measured", "with a draft", "predicted", "ratio",
             "source")  # fmt: skip
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for row in rows:
        m = row.measured
        predicted = m["batch"] / row.predicted_seconds(DEFAULT_EFFICIENCY, DEFAULT_LAYER_SECONDS)
        cells = (
            m["model"],
            m["gpu"] if m["tp"] == 1 else f"{m['tp']} × {m['gpu']}",
            m["dtype"],
            str(m["batch"]),
            f"{m['tokens_per_second']:g}",
            "" if m["with_speculation"] is None else f"{m['with_speculation']:g}",
            f"{predicted:.1f}",
            f"{row.ratio:.2f}",
            m["source"],
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--fit", action="store_true", help="fit efficiency and time per layer to the measurements"
    )
    arguments = parser.parse_args()
    rows = [compare(measured) for measured in PUBLISHED["rows"]]
    if arguments.fit:
        efficiency, layer_seconds = fit(rows)
        print(f"efficiency {efficiency:.2f}, {1e6 * layer_seconds:.0f} microseconds a layer")
        return
    print(markdown(rows))
    low, middle, high = np.quantile([row.ratio for row in rows], [0.1, 0.5, 0.9])
    print(
        f"\n{len(rows)} measurements: measured over predicted {middle:.2f} at the median, "
        f"{low:.2f} to {high:.2f} from the 10th to the 90th percentile."
    )


if __name__ == "__main__":
    main()
