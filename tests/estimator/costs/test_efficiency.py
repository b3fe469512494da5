"""The efficiency that plans assume is what published speeds say, and the document shows them."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from simulator.cost.roofline.forward import (
    DEFAULT_EFFICIENCY,
    DEFAULT_LAYER_SECONDS,
    MEASURED_HIGH,
    MEASURED_LOW,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """Returns benchmarks/roofline.py, which is a program and in no package."""
    spec = importlib.util.spec_from_file_location("roofline", ROOT / "benchmarks" / "roofline.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows(benchmark: ModuleType) -> list[Any]:
    return [benchmark.compare(measured) for measured in benchmark.PUBLISHED["rows"]]


def test_the_defaults_are_the_fit(benchmark: ModuleType, rows: list[Any]) -> None:
    efficiency, layer_seconds = benchmark.fit(rows)
    assert efficiency == pytest.approx(DEFAULT_EFFICIENCY, abs=1e-9)
    assert layer_seconds == pytest.approx(DEFAULT_LAYER_SECONDS, abs=1e-12)


def test_the_spread_is_that_of_the_table(rows: list[Any]) -> None:
    low, high = np.quantile([row.ratio for row in rows], [0.1, 0.9])
    assert round(float(low), 2) == MEASURED_LOW
    assert round(float(high), 2) == MEASURED_HIGH


def test_the_document_shows_the_table(benchmark: ModuleType, rows: list[Any]) -> None:
    document = (ROOT / "docs" / "roofline.md").read_text(encoding="utf-8")
    assert len(rows) >= 20
    assert benchmark.markdown(rows) in document
    assert f"{len(rows)} measurements:" in document
