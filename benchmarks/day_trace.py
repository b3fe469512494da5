"""Writes a day of requests as a CSV that `traffic --trace` and `size --trace` read.

    python benchmarks/day_trace.py -o day.csv --hours 24 --peak 10 --seed 0

Arrivals are a Poisson process whose rate follows a day: a quarter of the peak at 4:00, the peak at
14:00. Lengths are lognormal; prompts are longer by day, outputs by night.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

HOUR, TROUGH, BUSIEST = 3600, 0.25, 14


def day(*, hours: float, peak: float, seed: int) -> list[tuple[float, int, int]]:
    """Returns seconds, prompt tokens and output tokens of each request; peak: requests/s."""
    generator = np.random.default_rng(seed)
    times = np.cumsum(generator.exponential(1 / peak, round(1.1 * hours * HOUR * peak)))
    times = times[times < hours * HOUR]
    sun = (1 + np.cos(2 * np.pi * (times / HOUR - BUSIEST) / 24)) / 2
    kept = generator.random(len(times)) < TROUGH + (1 - TROUGH) * sun
    times, sun = times[kept], sun[kept]
    # Lognormal lengths with a standard deviation of about 0.8 times the mean.
    prompts, outputs = (
        np.maximum(mean * np.exp(generator.normal(-0.25, 0.7, len(times))), 1).round().astype(int)
        for mean in (700 + 600 * sun, 350 - 100 * sun)
    )
    return list(zip(times.round(3).tolist(), prompts.tolist(), outputs.tolist(), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--peak", type=float, default=10, help="requests a second at 14:00")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = day(hours=arguments.hours, peak=arguments.peak, seed=arguments.seed)
    with arguments.output.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "prompt_tokens", "output_tokens"])
        writer.writerows(rows)
    print(f"{len(rows)} requests in {arguments.hours:g} hours")


if __name__ == "__main__":
    main()
