"""`specplan traffic` from runs: a K that was run stays, and curves cross where the text says."""

import json
from pathlib import Path

import pytest

from specplan.reports.page.shown import section_of
from tests.specplan.plan_inputs import both, run, run_json

pytestmark = pytest.mark.usefixtures("few_draws")


def test_a_k_that_was_not_run_is_not_named_where_it_is_likelier_to_overload() -> None:
    runs = (
        "--run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,rates=0.82/0.61/0.42 "
        "--run gamma=0,tpot=11,batch=16 --run gamma=3,tpot=12,batch=16,rates=0.82/0.61/0.42"
    )
    load = "--rate 1.5,2,2.5,3,3.2,3.5,4,4.5 --prompt-ms 60 --prompt-tokens 1000"
    answer = run_json(f"{load} --output-tokens 300 {runs}", "traffic")
    named = {row["rate"]: row["gamma"] for row in answer["rows"]}
    # At the last rate the K that was run overloads the server as often.
    assert list(named.values()) == [3, 3, 3, 3, 3, 3, 3, 1]
    # A batch without a run of a K above 0 leaves all K to the estimate.
    some = runs.replace(",batch=16,rates=0.82/0.61/0.42", ",rates=0.82/0.61/0.42")
    freely = run_json(f"{load} --output-tokens 300 {some}", "traffic")
    assert {row["gamma"] for row in freely["rows"]} > {0}


def test_two_overloaded_rates_are_rows_and_the_others_are_named() -> None:
    words = (
        "--rate 2,10,20,30,40 --prompt-ms 60 --prompt-tokens 1000 --output-tokens 300 "
        "--run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,length=2.85"
    )
    answer, text = both(words, "traffic")
    assert len(answer["rows"]) == 10
    assert "More rates overload the server: 40." in text
    assert text.count("overloaded (max") == 4
    assert [row[0] for row in section_of(answer).tables[0].rows[-2:]] == ["30", "30"]


def test_curves_cross_targets_where_the_text_says_and_simulations_are_dots(tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    runs = (
        "--run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,rates=0.82/0.61/0.42 "
        "--run gamma=0,tpot=11,batch=16 --run gamma=3,tpot=12,batch=16,rates=0.82/0.61/0.42"
    )
    load = "--rate 1.5,3.5 --prompt-ms 60 --prompt-tokens 1000 --output-tokens 300"
    more = f"--slo tpot=12,ttft=200 --simulate --requests 300 -o {file}"
    assert run(f"{load} {runs} {more}", "traffic").exit_code == 0
    answer = json.loads(file.read_text())
    charts = {chart.key: chart for chart in section_of(answer).charts}
    lines = {line.name: line for line in charts["tpot"].series}
    for name, way in (("with speculation", ""), ("without", "_without")):
        points = lines[name].points
        above = next(at for at, point in enumerate(points) if point.y > 12)
        (x, low), (later, high) = ((point.x, point.y) for point in points[above - 1 : above + 1])
        crossing = x + (12 - low) / (high - low) * (later - x)
        assert crossing == pytest.approx(answer[f"slo_requests_per_second{way}"], rel=0.01)
        assert lines[f"{name}, simulated"].mark == "dots"
    # Rings are drawn around dots, so that both are seen where they have one place.
    assert {line.mark for line in charts["within"].series} == {"dots", "rings"}
    assert "Dots: simulated" in charts["tpot"].reading
