"""Compares products that others timed with the packaged kernels and with the roofline.

    python benchmarks/published_operators.py

published_operators.csv has medians of single products of 16-bit weights, from the profiles of two
simulators: github.com/microsoft/vidur (MIT; Llama-2-7B, November 2024) and
github.com/casys-kaist/LLMServingSim (MIT; Llama-3.1-8B in vLLM 0.19, August 2026). The roofline
reaches 0.9 of the peak rates, as in plans. A second.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from published_speculation import table_head, table_row

from estimator.costs.kernel_tables import MeasuredKernels, missing
from simulator.cost.roofline.forward import DEFAULT_EFFICIENCY
from simulator.cost.roofline.hardware import find_hardware

FILE = Path(__file__).with_name("published_operators.csv")
# Products of at most so many rows read weights; larger ones multiply.
FEW = 64


def roof_seconds(gpu: str, rows: int, outputs: int, inputs: int) -> float:
    """Returns the roofline's time of a product of 16-bit values."""
    hardware = find_hardware(gpu)
    read = 2 * (outputs * inputs + rows * (outputs + inputs)) / hardware.bandwidth
    multiplied = 2 * rows * outputs * inputs / hardware.flops("bfloat16")
    return max(read, multiplied) / DEFAULT_EFFICIENCY


def main() -> None:
    errors: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
    with FILE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            gpu, rows = row["gpu"], int(row["rows"])
            outputs, inputs = int(row["outputs"]), int(row["inputs"])
            measured = float(row["microseconds"]) / 1e6
            kernel = np.nan
            if missing(gpu, None) is None:
                kernels = MeasuredKernels(gpu, None)
                kernel = kernels.product(rows=rows, outputs=outputs, inputs=inputs, stored=2.0)
            size = f"to {FEW}" if rows <= FEW else f"beyond {FEW}"
            roof = roof_seconds(gpu, rows, outputs, inputs)
            errors[gpu, row["source"], size].append((kernel / measured - 1, roof / measured - 1))
    head = ("GPU", "source", "rows", "products", "kernels, mean", "bias", "roofline, mean", "bias")
    print(table_head(head))
    for (gpu, source, size), pairs in errors.items():
        cells = [gpu, source, size, str(len(pairs))]
        for off in np.array(pairs).T:
            known = not np.isnan(off).any()
            cells += [f"{np.abs(off).mean():.1%}", f"{off.mean():+.1%}"] if known else ["", ""]
        print(table_row(cells))


if __name__ == "__main__":
    main()
