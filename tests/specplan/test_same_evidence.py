"""The same evidence gives the same numbers, however it is stated."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import specplan as sp
from simulator.choice.advice import REPEAT, advise
from specplan.main import main
from tests.engines.metrics_pages import vllm_page
from tests.specplan.metrics_server import server
from tests.specplan.plan_inputs import answered

CONFIGS = Path(__file__).parents[2] / "docs" / "configs"
LLAMA = [
    *("--target-config", str(CONFIGS / "llama-3.1-8b.json")),
    *("--draft-config", str(CONFIGS / "llama-3.1-8b-eagle3.json")),
    *("--gpu", "h100"),
]
DRAFTS, HITS = 1000, (820, 610, 420, 280, 180)
RATES = [f"{hits / DRAFTS:g}" for hits in HITS]
BY_POSITION = ["--acceptance-by-position", ",".join(RATES)]
BASELINE = ["--run", "gamma=0,tpot=7"]


def curve(data: Any, name: str = "expected_tokens", most: int = 5) -> list[float]:
    return [point[name] for point in data["curve"][:most]]


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Path]:
    """Returns files in which a server printed these rates, by their kind."""
    line = (
        "INFO 11-21 22:42:26 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: "
        f"{1 + sum(HITS) / DRAFTS:.2f}, Accepted: {sum(HITS)} tokens, Drafted: "
        f"{len(HITS) * DRAFTS} tokens, Per-position acceptance rate: "
        f"{', '.join(f'{hits / DRAFTS:.3f}' for hits in HITS)}, Avg Draft acceptance rate: 46.2%\n"
    )
    bench = {
        "model_id": "M",
        "completed": 8,
        "mean_tpot_ms": 4.0,
        "max_concurrency": 1,
        "spec_decode_num_drafts": DRAFTS,
        "spec_decode_draft_tokens": len(HITS) * DRAFTS,
        "spec_decode_accepted_tokens": sum(HITS),
        "spec_decode_per_position_acceptance_rates": [hits / DRAFTS for hits in HITS],
    }
    texts = {"log": line, "page": vllm_page(DRAFTS, HITS), "bench": json.dumps(bench)}
    paths = {}
    for kind, text in texts.items():
        paths[kind] = tmp_path / f"{kind}.txt"
        paths[kind].write_text(text)
    return paths


@pytest.mark.parametrize("kind", ["log", "page", "bench"])
def test_rates_by_position_are_the_same_by_every_road(
    kind: str, sources: dict[str, Path], tmp_path: Path
) -> None:
    stated = answered("plan", *BY_POSITION, "--c", "0.05")
    observed = answered("observe", str(sources[kind]), "--c", "0.05")["plan"]
    profile = tmp_path / "observed.json"
    CliRunner().invoke(main, ["observe", str(sources[kind]), "-o", str(profile)])
    replanned = answered("plan", "--profile", str(profile), "--c", "0.05")
    for other in (observed, replanned):
        for name in ("expected_tokens", "improvement_factor"):
            assert curve(other, name) == pytest.approx(curve(stated, name), rel=1e-9)
        assert other["alpha"] == pytest.approx(stated["alpha"], rel=1e-9)


def test_a_running_server_and_python_give_the_same_plan(sources: dict[str, Path]) -> None:
    stated = answered("plan", *BY_POSITION, "--c", "0.05")
    with server(sources["page"].read_text()) as url:
        observed = answered("observe", url, "--c", "0.05")["plan"]
        scraped = sp.plan(sp.observe(url), sp.Ratio(0.05))
    typed = sp.plan(sp.ByPosition([hits / DRAFTS for hits in HITS]), sp.Ratio(0.05))
    lengths = [1 + sum(HITS[:gamma]) / DRAFTS for gamma in range(1, len(HITS) + 1)]
    for road in (curve(observed), scraped.curve.expected_tokens, typed.curve.expected_tokens):
        assert list(road)[: len(HITS)] == pytest.approx(lengths, rel=1e-9)
    assert observed["advised_gamma"] == stated["advised_gamma"]
    assert scraped.best.gamma == typed.best.gamma == stated["advised_gamma"]


def test_rates_of_a_run_are_rates_by_position() -> None:
    stated = answered("plan", *BY_POSITION, "--c", "0.05")
    run = answered("plan", *BASELINE, "--run", f"gamma=5,tpot=4,rates={'/'.join(RATES)}")
    assert curve(run) == pytest.approx(curve(stated), rel=1e-9)


def test_a_bench_file_is_the_same_as_a_run_and_as_a_source(sources: dict[str, Path]) -> None:
    stated = answered("plan", *BY_POSITION, "--c", "0.05")
    run = f"file={sources['bench']}"
    planned = answered("plan", *BASELINE, "--run", run)
    typed = answered("plan", *BASELINE, "--run", f"gamma=5,tpot=4,rates={'/'.join(RATES)}")
    observed = answered("observe", str(sources["bench"]), *BASELINE)["plan"]
    for other in (planned, observed):
        assert curve(other) == pytest.approx(curve(stated), rel=1e-9)
        assert other["advised_gamma"] == typed["advised_gamma"]
        # Only the file knows how many blocks were counted: less doubt is bounded less by physics.
        assert curve(other, "improvement_factor") == pytest.approx(
            curve(typed, "improvement_factor"), rel=2e-3
        )
    for name in ("improvement_factor", "improvement_factor_low", "gain_probability"):
        assert curve(observed, name) == pytest.approx(curve(planned, name), rel=1e-9)


def test_a_length_is_the_same_by_every_road() -> None:
    stated = answered("plan", "--block-efficiency", "2.85", "--at-gamma", "3", "--c", "0.05")
    fraction = f"{1.85 / 3!r}"
    others = [
        answered("plan", "--accepted-fraction", fraction, "--at-gamma", "3", "--c", "0.05"),
        answered("plan", *BASELINE, "--run", "gamma=3,tpot=4,length=2.85"),
        answered("plan", *BASELINE, "--run", f"gamma=3,tpot=4,accepted={fraction}"),
    ]
    for other in others:
        assert other["alpha"] == pytest.approx(stated["alpha"], rel=1e-3)
        assert curve(other, most=3) == pytest.approx(curve(stated, most=3), rel=1e-3)


@pytest.mark.parametrize("factor", [0.1, 3.0, 100.0])
def test_the_unit_of_time_does_not_matter(factor: float) -> None:
    def times(scale: float) -> Any:
        words = [f"{scale * each:.12g}" for each in (2.0, 0.15, 2.6, 0.1)]
        names = ("--target-ms", "--draft-ms", "--verify-ms", "--overhead-ms")
        words[2] = f"4={words[2]}"
        pairs = [word for pair in zip(names, words, strict=True) for word in pair]
        return answered("plan", *BY_POSITION, *pairs)

    one, other = times(1.0), times(factor)
    assert curve(other, "improvement_factor", 8) == pytest.approx(
        curve(one, "improvement_factor", 8), rel=1e-9
    )
    assert other["advised_gamma"] == one["advised_gamma"]
    assert other["tokens_per_second"] == pytest.approx(one["tokens_per_second"] / factor)


@pytest.mark.parametrize("factor", [0.1, 5.0])
def test_scaling_the_times_of_runs_leaves_speed_ups(factor: float) -> None:
    def runs(scale: float) -> Any:
        baseline = f"gamma=0,tpot={7 * scale:.12g}"
        return answered(
            "plan", "--run", baseline, "--run", f"gamma=3,tpot={4.1 * scale:.12g},length=2.85"
        )

    one, other = runs(1.0), runs(factor)
    for name in ("improvement_factor", "improvement_factor_low", "improvement_factor_high"):
        assert curve(other, name, 8) == pytest.approx(curve(one, name, 8), rel=1e-6)
    assert other["advised_gamma"] == one["advised_gamma"]


COSTS = [
    ["--alpha", "0.8", "--c", "0.05"],
    [*BY_POSITION, "--target-ms", "19", "--draft-ms", "1.6", "--verify-ms", "4=24"],
    ["--alpha", "0.7", *LLAMA],
    [*BASELINE, "--run", "gamma=3,tpot=4.1,length=2.85"],
]


@pytest.mark.parametrize("words", COSTS, ids=["c", "times", "gpu", "runs"])
def test_a_cap_above_the_best_changes_nothing(words: list[str]) -> None:
    wide = answered("plan", *words, "--max-gamma", "20")
    close = answered("plan", *words, "--max-gamma", str(wide["optimal_gamma"] + 2))
    for name in ("optimal_gamma", "advised_gamma", "expected_tokens", "improvement_factor"):
        assert close[name] == pytest.approx(wide[name], rel=1e-9), name
    most = len(close["curve"])
    assert curve(close, "improvement_factor", most) == pytest.approx(
        curve(wide, "improvement_factor", most), rel=1e-9
    )


def test_a_batch_in_a_grid_is_that_batch_by_itself() -> None:
    grid = answered("plan", "--alpha", "0.7", *LLAMA, "--batch", "1,8,64")["rows"]
    for row in grid:
        apart = answered("plan", "--alpha", "0.7", *LLAMA, "--batch", str(row["batch"]))
        for name, value in row.items():
            if isinstance(value, float):
                assert value == pytest.approx(apart[name], rel=1e-9), name
            elif name not in ("notes", "cost"):
                assert value == apart[name], name


def test_gamma_zero_is_the_baseline_by_every_road() -> None:
    """Where nothing is accepted, nothing is drafted, at the target's own speed."""
    nothing = [
        ("--alpha", "0", "--c", "0.05"),
        ("--accepted-fraction", "0", "--at-gamma", "3", "--c", "0.05"),
        ("--block-efficiency", "1", "--at-gamma", "3", "--c", "0.05"),
        ("--acceptance-by-position", "0,0,0", "--target-ms", "10", "--draft-ms", "1"),
        ("--alpha", "0", *LLAMA),
        (*BASELINE, "--run", "gamma=3,tpot=9,length=1"),
    ]
    for words in nothing:
        data = answered("plan", *words)
        assert (data["optimal_gamma"], data["advised_gamma"]) == (0, 0), words
        assert data["improvement_factor"] == data["expected_tokens"] == 1, words
        if data["tokens_per_second"] is not None:
            assert data["tokens_per_second"] == pytest.approx(data["baseline_tokens_per_second"])


def test_a_run_of_another_model_is_refused(sources: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    bench = json.loads(sources["bench"].read_text())
    kept = ("completed", "max_concurrency")
    other.write_text(
        json.dumps({"model_id": "N", "mean_tpot_ms": 7.0} | {name: bench[name] for name in kept})
    )
    words = ["plan", "--run", f"file={other},gamma=0", "--run", f"file={sources['bench']}"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "M and N" in result.stderr or "N and M" in result.stderr


def test_a_further_run_is_expected_to_be_as_noisy_as_the_servers_own_runs() -> None:
    runs = [
        sp.Run.of(gamma=0, tpot=9.5, error=8),
        sp.Run.of(gamma=3, tpot=8.9, length=2.1, error=8),
    ]
    plan = sp.plan(sp.ByPosition([0.8, 0.6, 0.4]), sp.Runs(runs)).row
    allowed = plan.curve.gamma[plan.allowed]
    law = plan.curve.gains.only(plan.allowed)
    noisy, usual = (
        advise(allowed, law, repeat=noise, tried={0, 3}).next_run for noise in (0.08, REPEAT)
    )
    assert plan.advice.next_run is not None
    assert noisy is not None
    assert plan.advice.next_run.gain == pytest.approx(noisy.gain, rel=1e-3)
    assert plan.advice.next_run.gain != pytest.approx(0 if usual is None else usual.gain, rel=0.01)


@pytest.mark.parametrize("gamma", [3, 5])
def test_traffic_has_the_times_of_a_plan_of_runs_that_disagree(gamma: int) -> None:
    """Both take a run's own tokens per block, not those by the rates of all runs."""
    runs = [
        *("--run", "gamma=0,tpot=10"),
        *("--run", "gamma=3,tpot=5,rates=0.8/0.57/0.38"),
        *("--run", "gamma=5,tpot=4.8,rates=0.75/0.5/0.33/0.25/0.2"),
    ]
    planned = answered("plan", *runs)["curve"][gamma - 1]["ms_per_token"]
    load = [
        *("--prompt-ms", "0.5"),
        *("--rate", "0.01"),
        *("--prompt-tokens", "100"),
        *("--output-tokens", "4000"),
    ]
    rows = answered("traffic", *runs, *load, "--gamma", str(gamma))["rows"]
    [served] = [row["tpot_ms"] for row in rows if row["speculation"]]
    assert served == pytest.approx(planned, rel=3e-3)
