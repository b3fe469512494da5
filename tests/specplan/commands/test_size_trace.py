"""`specplan size --trace`: replicas by hour, and what one fixed number wastes."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import specplan as sp
from simulator.acceptance.acceptance import Iid
from specplan.api.size import SizeResult
from tests.specplan.commands.test_size_command import DRAFT, MODELS, TARGET
from tests.specplan.plan_inputs import run

pytestmark = pytest.mark.usefixtures("few_requests")

MACHINES = "--slo ttft=500,tpot=8 --gpu h100 --gpus-per-replica 1"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a trace of three hours with 2, 12 and 5 requests a second."""
    generator, rows = np.random.default_rng(0), ["time,prompt_tokens,output_tokens"]
    for hour, rate in enumerate((2.0, 12.0, 5.0)):
        times = 3600 * hour + np.sort(generator.uniform(0, 3600, round(3600 * rate)))
        rows += [f"{time:.3f},1000,{300 - 100 * hour}" for time in times]
    path = tmp_path_factory.mktemp("trace") / "hours.csv"
    path.write_text("\n".join(rows))
    return path


@cache
def by_python(trace: Path) -> SizeResult:
    return sp.size(
        TARGET,
        sp.SizedDraft(DRAFT, Iid(0.8), "small"),
        sp.SizeSettings(
            trace=trace,
            targets={"ttft": 500, "tpot": 8},
            gpus=["h100"],
            gpus_per_replica=[1],
            prices={"h100": 2.0},
            engine="vllm",
        ),
    )


def test_each_hour_has_its_replicas_and_the_waste_follows_from_them(trace: Path) -> None:
    sizing = by_python(trace).json()
    day = sizing["day"]
    replicas = [hour["replicas"] for hour in day["hours"]]
    assert [hour["from"] for hour in day["hours"]] == ["0:00", "1:00", "2:00"]
    lengths = [hour["output_tokens"] for hour in day["hours"]]
    assert lengths == pytest.approx([300, 200, 100], rel=1e-3)
    assert day["fixed_replicas"] == max(replicas) == replicas[1] == sizing["best"]["replicas"]
    assert sizing["best_without"]["gpus"] == day["without"]["fixed_gpus"] > max(replicas)
    assert min(hour["share_within"] for hour in day["hours"]) >= 0.95
    assert day["gpu_hours"] == pytest.approx(sum(replicas), rel=2e-3)
    assert day["wasted_gpu_hours"] == pytest.approx(3 * max(replicas) - sum(replicas), rel=2e-2)
    share = day["wasted_gpu_hours"] / day["fixed_gpu_hours"]
    assert day["wasted_percent"] == pytest.approx(100 * share)
    assert day["wasted_price"] == pytest.approx(2 * day["wasted_gpu_hours"])


def test_text_python_and_picture_show_the_hours(trace: Path, tmp_path: Path) -> None:
    plot = tmp_path / "hours.svg"
    shown = run(f"--trace {trace} {MODELS} {MACHINES} --price h100=2 --plot {plot}", "size")
    assert shown.exit_code == 0, shown.output
    words = " ".join(shown.output.split())
    assert "One fixed number of replicas (" in words
    assert "GPU-hours, of which" in words
    assert "GPUs by hour" in plot.read_text()
    sizing = by_python(trace)
    assert sizing.day is not None
    assert f"({sizing.day.fixed}, {sizing.day.fixed} GPUs) runs" in words


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("time,prompt_tokens,output_tokens\n0,9,9\n0,9,9", "", "must last longer than 0 seconds"),
        ("time,prompt_tokens,output_tokens", "", "at least one request, got none"),
        ("time,output_tokens\n0,9", "", "must have a header line with time, prompt_tokens"),
        ("time,prompt_tokens,output_tokens\n0,9,9\n9,x,9", "", "in line 3 of"),
        (
            "time,prompt_tokens,output_tokens\n0,9,9\n9,9,9",
            "--rate 4",
            "--rate cannot be combined with --tr",
        ),
    ],
)
def test_bad_traces_are_refused_in_one_line(
    content: str, options: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    shown = run(f"--trace {path} {MODELS} {MACHINES} {options}", "size")
    assert shown.exit_code == 2, shown.output
    assert message in " ".join(shown.output.split())


def test_a_load_or_a_trace_is_needed() -> None:
    shown = run(f"--rate 4 --output-tokens 9 {MODELS} {MACHINES}", "size")
    assert shown.exit_code == 2
    assert "--prompt-tokens must be given, or --trace" in " ".join(shown.output.split())
