"""Answers in notebooks: their advice, their picture and their table, as on their page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

import specplan as sp
from specplan.api.results import TunedRuns
from specplan.api.size import SizeResult
from tests.specplan.made_profiles import made_tuning

pytestmark = pytest.mark.usefixtures("few_requests")

CONFIGS = Path(__file__).parents[2] / "docs" / "configs"
TARGET, DRAFT = CONFIGS / "llama-3.1-8b.json", CONFIGS / "llama-3.2-1b.json"
DRAFTS = ("embedded", "lookup")
LOAD = {"prompt_tokens": 500, "output_tokens": 200}


def sized(tpot: float = 12) -> SizeResult:
    settings = sp.SizeSettings(
        rate=10, **LOAD, targets={"tpot": tpot}, gpus=["h100"], gpus_per_replica=[1], max_gamma=4
    )
    return sp.size(TARGET, sp.SizedDraft(DRAFT, sp.Iid(0.7), "<b>small</b>"), settings)


def served() -> Any:
    cost = sp.Roofline(TARGET, DRAFT, gpu="h100")
    arrivals = sp.Arrivals(rate=[1, 20], **LOAD, targets={"tpot": 20})
    return sp.traffic(sp.Iid(0.7), cost, arrivals=arrivals)


def planned() -> Any:
    return sp.plan(sp.Iid(0.8), sp.Roofline(TARGET, DRAFT, gpu="h100", batch=[1, 8]))


def observed() -> Any:
    return sp.observe(str(CONFIGS.parent / "examples" / "answers.jsonl"), gamma=4)


def compared() -> Any:
    return sp.compare(*(CONFIGS.parent / "examples" / f"{name}.json" for name in DRAFTS))


def tuned() -> Any:
    return convert(made_tuning(), TunedRuns)


@pytest.mark.parametrize("make", [compared, tuned])
def test_notebooks_show_results_of_runs_as_pictures_and_tables(make: Callable[[], Any]) -> None:
    found = make()
    shown = found._repr_html_()
    assert shown.startswith("<p><b>")
    assert "data:image/png;base64," in shown
    assert "<table>" in shown
    assert found.plot().axes
    assert len(found.records()) == len(found.json().get("rows") or found.json()["differences"])


def test_a_notebook_shows_observed_counts_without_positions_as_a_sentence() -> None:
    found = observed()
    length = found.json()["block_efficiency"]
    assert found._repr_html_() == f"<p><b>Observed: {length:.2f} tokens per call at K = 4.</b></p>"
    with pytest.raises(ValueError, match="nothing to draw: Observed"):
        found.plot()


@pytest.mark.parametrize("make", [sized, served, planned])
def test_a_notebook_shows_advice_picture_and_table(make: Callable[[], Any]) -> None:
    found = make()
    shown = found._repr_html_()
    assert shown.startswith("<p><b>")
    assert "data:image/png;base64," in shown
    assert shown.count("<tr>") == 1 + len(found.json().get("candidates") or found.json()["rows"])
    assert "<b>small" not in shown
    assert found.plot().axes


def test_the_headline_of_a_size_is_its_text() -> None:
    found = sized()
    assert found.json()["sentence"] in " ".join(str(found).split())


def test_speeds_are_drawn_where_no_deployment_keeps_the_targets() -> None:
    found = sized(tpot=0.1)
    assert found._repr_html_().startswith("<p><b>No deployment keeps TPOT 0.1 ms")
    assert found.plot().axes


def test_rows_of_traffic_are_a_frame() -> None:
    pytest.importorskip("pandas")
    assert list(served().frame()["rate"]) == [1, 1, 20, 20]
