"""The advice of `specplan traffic` in words."""

import json
from pathlib import Path
from typing import Any

import pytest

from specplan.reports.page.shown import section_of
from tests.specplan.plan_inputs import both, run

pytestmark = pytest.mark.usefixtures("few_draws")

LENGTHS = "--prompt-tokens 1000 --output-tokens 300 --prompt-ms 60"
RUNS = (
    "--run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,rates=0.82/0.61/0.42 "
    "--run gamma=0,tpot=11,batch=16 --run gamma=3,tpot=12,batch=16,rates=0.82/0.61/0.42"
)
CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
UNDECIDED = (
    f"--prompt-tokens 500 --output-tokens 200 --target-config {CONFIGS / 'llama-3.1-8b.json'} "
    f"--draft-config {CONFIGS / 'llama-3.2-1b.json'} --gpu h100 --alpha 0.7 --engine vllm"
)


def answered(words: str) -> dict[str, Any]:
    """Returns the JSON of traffic, whose sentence is in its text, too."""
    answer, text = both(words, "traffic")
    assert answer["sentence"] in " ".join(text.split())
    return answer


def test_the_advice_names_k_its_rates_its_odds_and_the_capacity() -> None:
    answer = answered(f"--rate 1.5,2,3.5 {LENGTHS} {RUNS}")
    first, second, lost = (point["speed_up"] for point in answer["rows"][1:6:2])
    most, without = (row["most_requests_per_second"] for row in answer["rows"][1::-1])
    edge = f"K = 3 up to {answer['break_even_rate']:.3g} requests/s"
    low, high = (answer[f"break_even_rate_{end}"] for end in ("low", "high"))
    assert answer["details"][0].startswith("Best by rate: K = ")
    assert answer["details"][0].endswith(
        f"{edge} (90 %: {low:.3g} to {high:.3g}), no speculation above."
    )
    assert answer["sentence"].startswith(
        f"Draft with {edge}: requests are "
        f"{first:.2f} times as fast at 1.5/s (a gain is almost certain, over 99 %) and "
        f"{second:.2f} times as fast at 2/s (almost certain, over 99 %). At 3.5/s "
        f"({lost:.2f} times with K = 3) do not speculate."
    )
    capacity = f"Capacity: {without:.3g} requests/s without speculation ("
    assert capacity in " ".join(answer["details"])
    assert f"), {most:.3g} with K = 3" in " ".join(answer["details"])
    section = section_of(answer)
    assert section.headline == answer["sentence"]
    assert section.sure[:2] == answer["details"][:2]
    assert section.basis == answer["basis"]
    assert answer["basis"] == "Rests on observed acceptance and costs by your runs."
    heads, rows = section.tables[0].columns, section.tables[0].rows
    assert [row[list(heads).index("request speed-up")] for row in rows[1:4:2]] == [
        f"{first:.2f}",
        f"{second:.2f}",
    ]


def test_traffic_that_gains_nowhere_or_at_every_rate_says_so() -> None:
    slow = "--run gamma=0,tpot=7 --run gamma=3,tpot=9,length=2.2"
    light = "--prompt-tokens 100 --output-tokens 300 --prompt-ms 20 --rate 1"
    answer = answered(f"{slow} {light}")
    speed_up = answer["rows"][1]["speed_up"]
    assert speed_up < 1
    assert answer["sentence"].startswith(
        f"Do not speculate at any rate: requests are {speed_up:.2f} times as fast at 1/s (a gain "
        "is unlikely, "
    )
    quick = "--run gamma=0,tpot=7 --run gamma=3,tpot=4,length=2.8"
    assert answered(f"{quick} {light} --gamma 3")["sentence"].startswith(
        "Draft with K = 3 at every rate below the capacity, assuming larger batches cost the same: "
    )


@pytest.mark.usefixtures("kernel_tables")
def test_undecided_traffic_asks_for_the_runs_that_its_flags_wait_for(tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    assert run(f"--rate 5,20 {UNDECIDED} -o {file}", "traffic").exit_code == 0
    answer = json.loads(file.read_text())
    first = "K = 2 and K = 0 first"
    assert answer["sentence"].startswith(f"Undecided: run {first}. With K = 2 requests may be ")
    runs = "K = 2 and K = 0 (no speculation)"
    assert answer["flags"]["vllm"].startswith(f"# Undecided: run {runs} first and plan again;")
    row = answer["rows"][1]
    assert answer["details"][-2].startswith(
        f"The high end with K = 2 at 5/s ({row['tpot_ms_high']:.1f} ms a token) is far above "
        f"the middle, {row['tpot_ms']:.2f}, because some servers launch "
    )
    # The runs of the last sentence, with numbers in place of MS and L, answer the question.
    runs = answer["details"][-1].split("and add ")[1].split(" to this")[0]
    assert runs.count("--run") == 2
    runs = runs.replace("MS", "7.1", 1).replace("MS", "5.1").replace("=L", "=2.2")
    after = answered(f"--rate 5,20 {UNDECIDED} {runs}")
    assert after["sentence"].startswith("Draft with K = 2 ")


@pytest.mark.usefixtures("kernel_tables")
def test_a_likelier_loss_says_do_not_speculate_and_an_open_one_asks_for_runs() -> None:
    lost, unsure = (answered(f"--rate {rate} {UNDECIDED}") for rate in (40, 35))
    for answer, undecided in ((lost, False), (unsure, True)):
        row = answer["rows"][1]
        assert (row["undecided"], row["advised_gamma"]) == (undecided, 0)
        assert row["speed_up"] < 1
        edge = f"{answer['break_even_rate']:.3g}"
        assert answer["sentence"].endswith(f"only below {edge} requests/s, if runs confirm it.")
    assert lost["sentence"].startswith("Do not speculate at these rates: requests are ")
    assert unsure["sentence"].startswith(
        f"Undecided: run K = {unsure['rows'][1]['gamma']} and K = 0 first, though no gain is likely"
    )


@pytest.mark.usefixtures("kernel_tables")
def test_rows_and_sliders_do_not_ask_for_a_run_where_drafts_lose(tmp_path: Path) -> None:
    file = tmp_path / "page.json"
    words = f"--rate 5,40 --slo ttft=500,tpot=20 {UNDECIDED} -o {file}"
    assert run(words, "traffic").exit_code == 0
    answer = json.loads(file.read_text())
    section = section_of(answer)
    assert [row[-1] for row in section.tables[0].rows] == [
        "",
        "undecided: run it first",
        "times are inexact near the capacity",
        "times are inexact near the capacity, misses the targets, do not speculate",
    ]
    assert section.tables[0].columns[-1] == "remark"
    grid = section.explorer
    assert grid is not None
    advice = dict(zip(grid["along"], grid["outputs"][0]["values"], strict=True))
    assert advice[5] == "undecided: measure K = 2"
    assert advice[40] == "do not speculate (K = 1 shown)"
    beyond = [words for rate, words in advice.items() if rate > answer["break_even_rate"] + 5]
    assert len(beyond) > 2
    assert all(words.startswith("do not speculate") for words in beyond)


@pytest.mark.usefixtures("kernel_tables")
def test_sentence_sliders_and_table_agree_on_k_by_rate(tmp_path: Path) -> None:
    file = tmp_path / "page.json"
    words = f"--rate 5,20,40 --slo ttft=500,tpot=20 {UNDECIDED} -o {file}"
    assert run(words, "traffic").exit_code == 0
    answer = json.loads(file.read_text())
    two, one, none = answer["ranges"][0], answer["ranges"][1], answer["ranges"][-1]
    assert [two["gamma"], one["gamma"], none["last_rate"]] == [2, 1, None]
    assert one["last_rate"] == answer["break_even_rate"]
    ends = f"K = 2 up to {two['last_rate']:.3g}, K = 1 up to {one['last_rate']:.3g} requests/s"
    assert answer["details"][0].startswith(f"Best by rate, if runs confirm it: {ends} (90 %: ")
    assert answer["details"][0].endswith("), no speculation above.")
    explorer = section_of(answer).explorer
    assert explorer is not None
    for rate, advice in zip(explorer["along"], explorer["outputs"][0]["values"], strict=True):
        if rate <= one["last_rate"]:
            assert advice == f"undecided: measure K = {2 if rate <= two['last_rate'] else 1}"
        else:
            assert advice.startswith(("do not speculate", "no gain is likely"))
    # K = 1 is drafted once all slots are taken, with one K as with K by batch.
    by_batch = {row["by_batch"]["most_requests_per_second"] for row in answer["rows"][1::2]}
    assert answer["schedule"][-1]["test_gamma"] == 1
    assert by_batch == {answer["most_requests_per_second"]}
    assert answer["one_setting"]["gamma"] == 0
    assert answer["details"][1] == (
        "If only one setting can serve 5, 20 and 40 requests/s, do not speculate: K = 1 misses the "
        "targets on average at 40/s, K = 2 is overloaded at 40/s. The runs decide the K by rate, "
        "not this."
    )


def test_near_the_capacity_the_sentence_and_the_row_are_simulated() -> None:
    words = f"--rate 2,4.5 {LENGTHS} {RUNS} --simulate --requests 3000"
    answer = answered(words)
    _, light, near, row = answer["rows"]
    assert light["simulated"] is None
    assert row["near_capacity"]
    none, fixed = (
        {**point, "seconds": point["ttft_ms"] + 299 * point["tpot_ms"]}
        for point in answer["simulated"]
        if point["rate"] == 4.5 and point["policy"] in ("none", "fixed")
    )
    assert row["speed_up"] == pytest.approx(none["seconds"] / fixed["seconds"])
    assert row["speed_up"] != pytest.approx(near["request_ms"] / row["request_ms"], rel=0.02)
    lost = f"At 4.5/s ({row['speed_up']:.2f} times with K = {row['gamma']}, simulated"
    assert lost in answer["sentence"]


def test_one_setting_for_all_rates_drafts_where_that_pays_on_average() -> None:
    answer = answered(f"--rate 1,2,3.1 {LENGTHS} {RUNS}")
    one = answer["one_setting"]
    gains = [row["speed_up"] for row in answer["rows"][1::2]]
    assert gains[-1] < 1
    assert one["speed_up"] == pytest.approx((gains[0] * gains[1] * gains[2]) ** (1 / 3))
    assert (
        f"If only one setting can serve 1, 2 and 3.1 requests/s, set K = 3 ({one['speed_up']:.2f} "
        "times as fast on average over these rates): a server without speculation is slower on "
        "average."
    ) in answer["details"]
    assert answered(f"--rate 1,2 {LENGTHS} {RUNS}")["one_setting"] is None


def test_traffic_says_which_servers_are_overloaded() -> None:
    only, both_ways = (answered(f"--rate {rate} {LENGTHS} {RUNS}") for rate in (6, 60))
    assert [point["stable"] for point in only["rows"]] == [True, False]
    assert only["sentence"].startswith(
        "Do not speculate at these rates: they overload a server that drafts. Drafts gain only "
    )
    assert both_ways["sentence"].startswith("These rates overload the server, with speculation and")
