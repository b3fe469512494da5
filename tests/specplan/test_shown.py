"""Answers in notebooks: their advice, their picture and their table, as on their page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import specplan as sp
from specplan.api.size import SizeResult

CONFIGS = Path(__file__).parents[2] / "docs" / "configs"
TARGET, DRAFT = CONFIGS / "llama-3.1-8b.json", CONFIGS / "llama-3.2-1b.json"
LOAD = {"prompt_tokens": 500, "output_tokens": 200}


def sized(tpot: float = 12) -> SizeResult:
    return sp.size(
        TARGET, sp.SizedDraft(DRAFT, sp.Iid(0.7), "<b>small</b>"), rate=10, **LOAD,
        targets={"tpot": tpot}, gpus=["h100"], gpus_per_replica=[1], max_gamma=4,
    )  # fmt: skip


def served() -> Any:
    cost = sp.Roofline(TARGET, DRAFT, gpu="h100")
    return sp.traffic(sp.Iid(0.7), cost, rate=[1, 20], **LOAD, targets={"tpot": 20})


def planned() -> Any:
    return sp.plan(sp.Iid(0.8), sp.Roofline(TARGET, DRAFT, gpu="h100", batch=[1, 8]))


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
