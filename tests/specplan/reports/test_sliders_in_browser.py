"""Sliders of plans in a browser show the numbers of the command, on and between grid points."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from specplan.main import main
from tests.specplan.reports.test_page_in_browser import CONFIGS, MOVE

MODELS = (
    f"plan --target-config {CONFIGS}/llama-3.1-8b.json --draft-config {CONFIGS}/llama-3.2-1b.json"
)
SPEED = "document.querySelector('#part-1 [data-field=speed]').textContent"
LABELS = "[...document.querySelectorAll('#part-1 label output')]"
LOOK = """([name, settings]) => {
    for (const [key, value] of Object.entries(settings)) {
        const slider = document.querySelector(`#${name} [data-field="${key}"]`);
        slider.value = value;
        slider.dispatchEvent(new Event("input"));
    }
}"""
SERVED = (
    "traffic --prompt-tokens 9 --output-tokens 50 --prompt-ms 20 --slots 8 "
    "--run gamma=0,tpot=10,batch=1 --run gamma=0,tpot=20,batch=4 "
    "--run gamma=2,tpot=6,length=2,batch=1 --run gamma=2,tpot=18,length=2,batch=4"
)
FITTED = (
    "plan --run gamma=0,tpot=10,batch=1 --run gamma=3,tpot=6,length=2.5,batch=1 "
    "--run gamma=0,tpot=20,batch=8 --run gamma=3,tpot=21,length=2.5,batch=8 --batch 1,4,8"
)


def printed(command: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, [*command.split(), "--json"])
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def opened(browser: Any, command: str, folder: Path) -> Any:
    """Returns the page of a command in a browser."""
    result = CliRunner().invoke(main, [*command.split(), "--page", str(folder / "page.html")])
    assert result.exit_code == 0, result.output
    page = browser.new_page()
    page.goto((folder / "page.html").as_uri())
    return page


@pytest.mark.parametrize(
    ("steps", "settings"),
    [
        ({"batch": ("1", "8", "64"), "context": ("1024", "8192")},
         [(0.7, 0, 0), (0.7, 1, 1), (0.555, 2, 0), (0.31, 1, 1)]),
        ({"gpu": ("h100-sxm", "l40s")}, [(0.7, 1), (0.893, 1), (0.31, 0)]),
    ],
)  # fmt: skip
def test_settings_and_acceptance_move_to_the_numbers_of_a_plan(
    browser: Any, tmp_path: Path, steps: dict[str, tuple[str, ...]], settings: list[tuple[Any, ...]]
) -> None:
    fixed = MODELS if "gpu" in steps else f"{MODELS} --gpu h100"
    command = " ".join(f"--{name} {','.join(values)}" for name, values in steps.items())
    page = opened(browser, f"{fixed} --alpha 0.7 {command}", tmp_path)
    for alpha, *places in settings:
        moved = dict(zip(steps, places, strict=True))
        named = [values[place] for values, place in zip(steps.values(), places, strict=True)]
        advised, factor, factors = page.evaluate(MOVE, ["part-1", {"alpha": alpha, **moved}])
        one = " ".join(f"--{name} {value}" for name, value in zip(steps, named, strict=True))
        plan = printed(f"{fixed} --alpha {alpha} {one}")
        exact = [point["improvement_factor"] for point in plan["curve"]]
        at = 1.0 if advised == 0 else exact[advised - 1]
        np.testing.assert_allclose(factors, exact, rtol=1e-5 if alpha == 0.7 else 5e-3)
        assert factor == pytest.approx(at, rel=5e-3)
        assert at >= 0.985 * max(1.0, *exact) or advised == plan["test_gamma"]
        if alpha == 0.7:
            assert advised == (plan["test_gamma"] or plan["advised_gamma"])
        without = plan["baseline_tokens_per_second"]
        assert f"(without: {without:.4g}"[:12] in page.evaluate(SPEED)
    if "context" in steps:
        page.evaluate(MOVE, ["part-1", {"batch": 2, "context": 1}])
        assert "does not fit into memory" in page.text_content("#part-1 .found")
        page.evaluate(MOVE, ["part-1", moved])
    address = page.evaluate("location.href")
    page.goto("about:blank")
    page.goto(address)
    shown = page.evaluate(
        "[...document.querySelectorAll('#part-1 label output')].map(e => e.value)"
    )
    assert shown == [str(alpha), *named]
    page.close()


@pytest.mark.usefixtures("few_draws")
def test_rates_and_targets_move_to_the_shares_of_that_question(
    browser: Any, tmp_path: Path
) -> None:
    """Each moved place is a question of its own; its answer is computed again as stated."""
    page = opened(browser, f"{SERVED} --rate 4,9 --slo tpot=30,ttft=200", tmp_path)
    shown = set()
    for places in ((1, 6, 6), (5, 3, 8), (14, 8, 2), (20, 10, 12), (23, 12, 12)):
        page.evaluate(LOOK, ["part-1", dict(zip(("rate", "tpot", "ttft"), places, strict=True))])
        rate, tpot, ttft = page.evaluate(f"{LABELS}.map(e => e.value)")
        file = tmp_path / "one.json"
        command = f"{SERVED} --rate {rate} --slo tpot={tpot},ttft={ttft} -o {file}"
        assert CliRunner().invoke(main, command.split()).exit_code == 0
        grid = json.loads(file.read_text())["grid"]
        at = grid["rates"].index(float(rate))
        place = (at * len(grid["tpot_ms"]) + grid["tpot_ms"].index(float(tpot))) * len(
            grid["ttft_ms"]
        ) + grid["ttft_ms"].index(float(ttft))
        texts = page.evaluate(
            "[...document.querySelectorAll('#part-1 .found output')].map(e => e.value)"
        )
        shares = [f"{100 * grid[name][place]:.1f} %" for name in ("share", "share_without")]
        assert texts[1:] == shares
        assert str(grid["gamma"][at]) in texts[0]
        shown |= {*shares}
    assert len(shown) > 3
    page.close()


def test_settings_of_runs_have_the_advice_of_their_rows(browser: Any, tmp_path: Path) -> None:
    """Runs count their own acceptance, so that only the batch can be moved."""
    page, rows = opened(browser, FITTED, tmp_path), printed(FITTED)["rows"]
    for place, row in enumerate(rows):
        advised, _, factors = page.evaluate(MOVE, ["part-1", {"batch": place}])
        assert advised == (row["test_gamma"] or row["advised_gamma"])
        np.testing.assert_allclose(factors, [factor or 0 for factor in row["speed_ups"]], rtol=1e-5)
    assert len({row["advised_gamma"] for row in rows}) > 1
    assert page.locator("#part-1 input").count() == 1
    page.close()


@pytest.mark.usefixtures("few_requests")
def test_the_rate_of_a_size_moves_to_the_gpus_of_that_rate(browser: Any, tmp_path: Path) -> None:
    command = (
        "size --prompt-tokens 1000 --output-tokens 300 --slo tpot=8 --max-gpus 9 --target-config "
        f"{CONFIGS}/llama-3.1-8b.json --draft config={CONFIGS}/llama-3.1-8b-eagle3.json,alpha=0.8 "
        "--engine vllm --gpu h100 --gpus-per-replica 1 --max-gamma 3"
    )
    page, counts = opened(browser, f"{command} --rate 20", tmp_path), set()
    for place in (1, 6):
        page.evaluate(LOOK, ["part-1", {"rate": place}])
        (rate,) = page.evaluate(f"{LABELS}.map(e => e.value)")
        sizing = printed(f"{command} --rate {rate}")
        best, without = sizing["best"], sizing["best_without"]
        words = [
            f"{fleet['gpus']} ({fleet['replicas']} × {fleet['gpu']}, TP {fleet['tp']})" if fleet
            else "no deployment keeps the targets" for fleet in (best, without)
        ]  # fmt: skip
        texts = page.evaluate(
            "[...document.querySelectorAll('#part-1 .found output')].map(e => e.value)"
        )
        assert texts == [words[0], str(best["gamma"]), words[1]]
        counts.add(best["gpus"])
    assert len(counts) > 1
    assert words[1].startswith("no deployment")
    assert "requests a second" in page.text_content("#part-1")
    page.close()


def test_a_single_k_is_a_point_on_an_axis_of_whole_numbers(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, f"{MODELS} --alpha 0.7 --gpu h100 --batch 8,256 --engine vllm", tmp_path)
    page.evaluate(LOOK, ["part-1", {"batch": 1}])
    factors = json.loads(page.locator("#part-1 [data-chart]").get_attribute("data-factors"))
    assert sum(factor > 0 for factor in factors) == 1
    figure = "echarts.getInstanceByDom(document.querySelector('#part-1 [data-chart]'))"
    page.wait_for_function(f"{figure} !== undefined")
    axis = page.evaluate(f"(({{ min, max }}) => [min, max])({figure}.getOption().xAxis[0])")
    assert axis == [0, 2]
    across = page.evaluate(f"{figure}.convertToPixel({{ xAxisIndex: 0 }}, 1)")
    assert page.evaluate(f"{figure}.getWidth()") / 3 < across
