"""`specplan figures`: names, formats, results, lists."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from figures.registry import FIGURES
from specplan.main import main
from tests.specplan.plan_inputs import answered


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["figures", *arguments])


def test_list_names_every_figure_with_its_source() -> None:
    result = run("--list")
    assert result.exit_code == 0
    words = " ".join(result.stdout.split())
    assert "leviathan-fig3 optimal γ against α, by cost c (Leviathan et al. 2023" in words
    assert len(result.stdout.splitlines()) == len(FIGURES)


def test_list_as_json_is_one_object() -> None:
    figures = json.loads(run("--list", "--json", "speedup-map").stdout)["figures"]
    assert figures == [
        {
            "name": "speedup-map",
            "source": "ours",
            "shows": "best speed-up over (α, c), and where it ends",
        }
    ]


def test_chosen_figures_are_written_and_named(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    result = run(
        "leviathan-table1", "leviathan-fig2", "leviathan-table1", "-o", out, "--format", "csv, svg"
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        f"{out}/{name}"
        for name in (
            "leviathan-table1.csv",
            "leviathan-table1.svg",
            "leviathan-fig2.csv",
            "leviathan-fig2.svg",
        )
    ]
    assert all(Path(line).is_file() for line in result.stdout.splitlines())


def test_json_prints_the_files_and_nothing_else(tmp_path: Path) -> None:
    result = run("leviathan-table1", "-o", str(tmp_path), "--format", "csv", "--json")
    assert json.loads(result.stdout) == {"files": [str(tmp_path / "leviathan-table1.csv")]}


def test_all_figures_are_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: FIGURES[name] for name in ("leviathan-fig2", "leviathan-table1")}
    monkeypatch.setattr("specplan.commands.figures.FIGURES", few)
    result = run("-o", str(tmp_path), "--format", "csv")
    assert result.exit_code == 0, result.output
    assert sorted(file.stem for file in tmp_path.iterdir()) == list(few)


def test_results_reach_the_figures_that_take_them(tmp_path: Path) -> None:
    path = tmp_path / "validation.json"
    row = {
        "draft": "mine",
        "temperature": 1,
        "alpha": 0.5,
        "predicted": 1.2,
        "measured": 1.1,
        "gamma": 3,
        "tokens": 100,
    }
    path.write_text(json.dumps({"rows": [row]}))
    result = run(
        "predicted-measured",
        "leviathan-table3",
        "--results",
        str(path),
        "-o",
        str(tmp_path),
        "--format",
        "csv",
    )
    assert result.exit_code == 0, result.output
    assert "mine, γ = 3" in (tmp_path / "predicted-measured.csv").read_text(encoding="utf-8")
    assert "measured,ours,mine,1.0,0.5" in (tmp_path / "leviathan-table3.csv").read_text(
        encoding="utf-8"
    )


CONFIGS = Path(__file__).parents[3] / "docs" / "configs"


def test_batch_size_draws_the_deployment_that_is_named(tmp_path: Path) -> None:
    deployed = ("--target-config", str(CONFIGS / "llama-3.1-8b.json"), "--draft-config",
                str(CONFIGS / "llama-3.1-8b-eagle3.json"), "--gpu", "h100")  # fmt: skip
    result = run("batch-size", *deployed, "--tp", "2", "--alpha", "0.8", "--context", "256", "-o",
                 str(tmp_path), "--format", "svg,csv")  # fmt: skip
    assert result.exit_code == 0, result.output
    drawn = (tmp_path / "batch-size.svg").read_text(encoding="utf-8")
    assert "on 2 × h100-sxm, 256 tokens of context" in drawn
    assert "the roofline of 2 ×" in " ".join(re.findall(r"<!-- (.*?) -->", drawn))


@pytest.mark.parametrize("model", ["public", "roofline"])
def test_batch_size_has_the_speed_ups_of_plan_and_tree(model: str, tmp_path: Path) -> None:
    deployed = ("--target-config", str(CONFIGS / "llama-3.1-8b.json"), "--draft-config",
                str(CONFIGS / "llama-3.1-8b-eagle3.json"), "--gpu", "h100",
                "--cost-model", model, "--context", "16384")  # fmt: skip
    result = run("batch-size", *deployed, "-o", str(tmp_path), "--format", "csv")
    assert result.exit_code == 0, result.output
    lines = (tmp_path / "batch-size.csv").read_text(encoding="utf-8").splitlines()
    first = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    plan = answered("plan", *deployed, "--alpha", "0.7")
    for gamma in (2, 4, 8):
        expected = plan["curve"][gamma - 1]["improvement_factor"]
        assert float(first[f"speedup_gamma_{gamma}"]) == pytest.approx(expected)
    tree = answered("tree", *deployed, "--acceptance-by-rank", "0.7")
    chain = tree["rows"][0]["chain"]
    expected = plan["curve"][chain["nodes"] - 1]["improvement_factor"]
    # Trees do not condition a prior on the bounds of physics, which moves its median a little.
    assert chain["improvement_factor"] == pytest.approx(
        expected, rel=1e-9 if model == "roofline" else 0.02
    )
    assert tree["cost"]["model"] == model


@pytest.mark.usefixtures("kernel_tables")
def test_traffic_draws_the_deployment_with_the_capacity_of_traffic(tmp_path: Path) -> None:
    stated = [
        "--target-config", str(CONFIGS / "llama-3.1-8b.json"),
        "--draft-config", str(CONFIGS / "llama-3.2-1b.json"), "--gpu", "h100", "--alpha", "0.9",
    ]  # fmt: skip
    drawn = run("traffic", *stated, "-o", str(tmp_path), "--format", "svg,csv")
    assert drawn.exit_code == 0, drawn.output
    sizes = ["--rate", "1", "--prompt-tokens", "512", "--output-tokens", "256"]
    found = answered("traffic", *stated, *sizes)
    drawing = " ".join(re.findall(r"<!-- (.*?) -->", (tmp_path / "traffic.svg").read_text("utf-8")))
    most, without = (found[f"most_requests_per_second{way}"] for way in ("", "_without"))
    assert f"{most:.3g} with it" in drawing
    assert f"{without:.3g} without" in drawing
    assert "drafted by 1.24B" in drawing
    last = (tmp_path / "traffic.csv").read_text("utf-8").splitlines()[-1]
    assert float(last.split(",")[0]) == pytest.approx(0.995 * max(most, without))
