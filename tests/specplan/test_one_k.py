"""All roads name one K for the same acceptance, cost and batch."""

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import specplan as sp
from estimator.profiles.profile_file import write_profile
from specplan.main import main
from tests.engines.metrics_pages import vllm_page
from tests.specplan.made_profiles import made_profile
from tests.specplan.plan_inputs import answered

ROOT = Path(__file__).parents[2]
PROFILE = ROOT / "docs" / "examples" / "embedded.json"
TARGET, DRAFT = (
    str(ROOT / "docs" / "configs" / f"llama-3.1-8b{name}.json") for name in ("", "-eagle3")
)
DRAFTS, HITS = 100_000, (82_000, 61_000, 42_000, 28_000)
RATES = ",".join(f"{hits / DRAFTS:g}" for hits in HITS)
# Outputs are so long that their last block does not matter.
LONG = ("--prompt-tokens", "100", "--output-tokens", "4000")
GPU = (
    "--target-config", TARGET, "--draft-config", DRAFT, "--gpu", "h100", "--engine", "vllm",
    "--context", "2100",
)  # fmt: skip


def flags(*words: str) -> int:
    result = CliRunner().invoke(main, [*words, "--export", "vllm"])
    assert result.exit_code == 0, result.output
    _, config = shlex.split(result.stdout, comments=True)
    return int(json.loads(config)["num_speculative_tokens"])


def observed(folder: Path, batch: str) -> Any:
    page = folder / "page.txt"
    page.write_text(vllm_page(DRAFTS, HITS))
    return answered("observe", str(page), *GPU, "--batch", batch)["plan"]


def by_python(batch: int) -> int:
    rates = sp.ByPosition([hits / DRAFTS for hits in HITS])
    cost = sp.Roofline(TARGET, DRAFT, gpu="h100", engine="vllm", batch=batch, context=2100)
    return sp.plan(rates, cost).advice.gamma


@pytest.mark.parametrize("batch", [1, 64])
def test_rates_on_a_gpu_have_one_k_by_every_road(batch: int, tmp_path: Path) -> None:
    stated = ("plan", "--acceptance-by-position", RATES, *GPU)
    one = answered(*stated, "--batch", str(batch))["advised_gamma"]
    assert one > 0
    rows = {row["batch"]: row for row in answered(*stated, "--batch", "1,8,64")["rows"]}
    assert rows[batch]["advised_gamma"] == one
    assert flags(*stated, "--batch", str(batch)) == one
    assert observed(tmp_path, str(batch))["advised_gamma"] == one
    assert by_python(batch) == one


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_plan_and_traffic_have_one_schedule(engine: str) -> None:
    vllm = ("--acceptance-by-position", RATES, *GPU, "--batch", "1:60:1")
    stated = [word.replace("vllm", engine) for word in vllm]
    plan = answered("plan", *stated)["schedule"]
    traffic = answered("traffic", *stated, *LONG, "--rate", "0.1", "--slots", "60")["schedule"]
    assert len(plan) > 1
    keys = ("first_batch", "last_batch", "gamma")
    assert [[each[key] for key in keys] for each in traffic] == [
        [each[key] for key in keys] for each in plan
    ]


@pytest.mark.parametrize("model", ["public", "roofline"])
@pytest.mark.parametrize("batch", ["1", "64"])
def test_a_draft_without_branches_has_the_k_of_a_plan(model: str, batch: str) -> None:
    served = ["--cost-model", model, "--batch", batch, *GPU]
    ways = [word for word in served if model == "public" or word not in ("vllm", "--engine")]
    plan = answered("plan", "--alpha", "0.7", *ways, "--max-gamma", "12")
    tree = answered("tree", "--acceptance-by-rank", "0.7", *ways, "--max-nodes", "12")["rows"][0]
    assert tree["chain"]["nodes"] == plan["advised_gamma"]


@pytest.mark.parametrize("server", ["llama.cpp", "vllm"])
def test_the_page_has_the_flags_of_the_export_for_each_server(server: str, tmp_path: Path) -> None:
    """Sampled drafts of this profile are long; argmax drafts, as in llama.cpp, are short."""
    made = made_profile("d", alpha=0.8, c=0.1)
    short = made_profile("d", alpha=0.3, c=0.1).draftings["sampled"]
    both = {"sampled": made.draftings["sampled"], "argmax": short}
    profile = tmp_path / "p.json"
    write_profile(replace(made, draftings=both), profile)
    page = answered("report", str(profile), "-o", str(tmp_path / "page.html"))
    plan = answered("plan", "--profile", str(profile), "--export", server)
    assert page["flags"][server].endswith(plan["export"])
    own = plan["draft_sampling"] == "sampled"
    assert (plan["advised_gamma"] == page["drafts"][0]["advised_gamma"]) == own
    assert ("# Planned with argmax drafts" in page["flags"][server]) != own
    assert any(
        line.startswith("Argmax drafts, as by default in llama.cpp") for line in page["sure"]
    )


def of_page(folder: Path) -> int:
    out = folder / "page.html"
    result = CliRunner().invoke(main, ["report", str(PROFILE), "-o", str(out)])
    assert result.exit_code == 0, result.output
    found = re.search(r"Draft with embedded, K = (\d+):", out.read_text(encoding="utf-8"))
    assert found is not None
    return int(found[1])


ROADS: dict[str, Callable[[Path], int]] = {
    "measure": lambda _: int(json.loads(PROFILE.read_text())["recommended_gamma"]),
    "export": lambda _: flags("plan", "--profile", str(PROFILE)),
    "report": of_page,
    "python": lambda _: sp.plan(sp.Recorded(PROFILE)).advice.gamma,
    "traffic": lambda _: answered(
        "traffic", "--profile", str(PROFILE), *LONG, "--rate", "0.001", "--slots", "1",
        "--prompt-ms", "1", "--max-gamma", "16",
    )["schedule"][0]["gamma"],
}  # fmt: skip


@pytest.mark.parametrize("road", ROADS)
def test_a_profile_has_one_k_by_every_road(road: str, tmp_path: Path) -> None:
    assert ROADS[road](tmp_path) == answered("plan", "--profile", str(PROFILE))["advised_gamma"] > 0
