"""What decoding reaches of the roofs: fitted to published measurements, with its spread.

Time of a pass is that at the roofs over the efficiency, and a time for each layer that does not
shrink with the work (launches, norms, waiting). `benchmarks/roofline.py` fits both to the
measurements of docs/roofline.md, whose mean error in logarithms they make least.
"""

from __future__ import annotations

DEFAULT_EFFICIENCY = 0.9
DEFAULT_LAYER_SECONDS = 92e-6
# Measured over predicted tokens per second: the 10th and the 90th percentile.
MEASURED_LOW = 0.70
MEASURED_HIGH = 1.30
