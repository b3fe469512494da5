"""`specplan traffic` from runs: a K that was run stays."""

from specplan.reports.page.shown import section_of
from tests.specplan.plan_inputs import both, run_json


def test_a_k_that_was_run_stays_until_another_was_run() -> None:
    runs = (
        "--run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,rates=0.82/0.61/0.42 "
        "--run gamma=0,tpot=11,batch=16 --run gamma=3,tpot=12,batch=16,rates=0.82/0.61/0.42"
    )
    load = "--rate 1.5,2,2.5,3,3.2,3.5,4,4.5 --prompt-ms 60 --prompt-tokens 1000"
    answer = run_json(f"{load} --output-tokens 300 {runs}", "traffic")
    assert {row["gamma"] for row in answer["rows"]} == {0, 3}
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
