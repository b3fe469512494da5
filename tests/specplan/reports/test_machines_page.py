"""The page and the picture of `specplan traffic` for several machines."""

import json
from pathlib import Path

from specplan.reports.machines import machines_details, machines_sentence, ranked_machines
from specplan.reports.page.shown import section_of
from tests.specplan.plan_inputs import run

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
SERVER = (
    f"--prompt-tokens 500 --output-tokens 200 --target-config {CONFIGS / 'llama-3.1-8b.json'} "
    f"--draft-config {CONFIGS / 'llama-3.2-1b.json'} --gpu h100,l40s --alpha 0.7 "
    "--cost-model roofline --slots 64 --max-gamma 3"
)


def test_several_machines_have_a_page_and_a_picture(tmp_path: Path) -> None:
    load = f"--rate 2,60 {SERVER} --slo ttft=900,tpot=40"
    page, plot, file = (tmp_path / name for name in ("a.html", "a.png", "a.json"))
    shown = run(f"{load} --page {page} --plot {plot} -o {file}", "traffic")
    assert shown.exit_code == 0, shown.output
    assert plot.read_bytes().startswith(b"\x89PNG")
    section = section_of(json.loads(file.read_text()))
    assert section.headline in page.read_text()
    machines = json.loads(file.read_text())["machines"]
    carried, plain = (
        [f"{one[f'most_requests_per_second_at_share{way}']:.3g}" for one in machines]
        for way in ("", "_without")
    )
    assert section.headline == (
        "No machine keeps the targets at 2 and 60 requests/s. h100-sxm serves the most requests a "
        f"GPU with 95 % of them within the targets: {carried[0]}/s with speculation ({plain[0]} "
        "without)."
    )
    second, *failed = section.sure[:3]
    assert second.startswith(f"Second: l40s, {carried[1]}/s with speculation ({plain[1]} without).")
    overloaded = [f"{gpu} is overloaded at 60/s." for gpu in ("h100-sxm", "l40s")]
    assert failed == overloaded
    columns = section.tables[0].columns
    assert len(set(columns)) == len(columns)
    apart = [note for note in machines[1]["notes"] if note not in machines[0]["notes"]]
    assert apart
    assert all(f"l40s: {note}" in section.notes for note in apart)
    first = machines[0]
    assert section.sure[3] == f"h100-sxm: {first['sentence']} {first['details'][0]}"
    assert first["details"][0].startswith("Best by rate: K = ")
    assert section.basis.startswith("Rests on your acceptance rate and costs by ")
    assert section.basis.endswith(", and on no run of your server.")
    capacities, *times = section.charts
    assert list(capacities.categories) == ["h100-sxm", "l40s"]
    capacity, rings = capacities.series[0].points[0], capacities.series[2]
    assert capacity.y == first["most_requests_per_second"] / first["tp"]
    assert (rings.name, rings.mark) == ("95 % within the targets, with speculation", "rings")
    assert rings.points[0].y == first["most_requests_per_second_at_share"] / first["tp"]
    assert capacity.low == machines[0]["most_requests_per_second_low"]
    names = {
        f"{name}, {way}"
        for name in capacities.categories
        for way in ("with speculation", "without")
    }
    assert {line.name for chart in times for line in chart.series} == names
    assert [level.y for chart in times for level in chart.levels] == [40, 900]
    assert section.export.startswith("With --engine SERVER")
    # Beyond its capacity a machine has no point; where it has one only, a ring is without drafts.
    marks = {line.name: line.mark for line in times[0].series}
    assert (marks["l40s, with speculation"], marks["l40s, without"]) == ("dots", "rings")
    assert [point.x for line in times[0].series if line.name.startswith("l40s")
            for point in line.points] == [2, 2]  # fmt: skip


def test_a_machine_with_an_undecided_gain_waits_for_runs() -> None:
    most = "most_requests_per_second"
    fast = {"gpu": "h100-sxm", "tp": 2, most: 60.0, f"{most}_without": 50.0,
            f"{most}_low": 40.0, f"{most}_high": 70.0, "schedule": [{"test_gamma": 2}]}  # fmt: skip
    slow = {"gpu": "l40s", "tp": 1, most: 8.0, f"{most}_without": 13.0,
            f"{most}_without_low": 10.0, f"{most}_without_high": 30.0,
            "schedule": [{"test_gamma": 3}]}  # fmt: skip
    row = {"rate": 5, "stable": True, "on_target": True, "tpot_ms": 9.0}
    fast |= {"rows": [row, row], "sentence": "Wait.", "details": ["Next: run K = 2."]}
    late = row | {"on_target": False}
    slow |= {"rows": [late, late], "slo": {"tpot_ms": 8, "ttft_ms": None}, "sentence": "No.",
             "details": ["Next: run K = 3."]}  # fmt: skip
    assert machines_sentence([slow, fast]) == (
        "Take h100-sxm, TP 2: it carries 5 requests/s, and serves the most requests a GPU: 30/s "
        "with speculation, if runs confirm its gain (25 without)."
    )
    assert machines_details([slow, fast]) == [
        "l40s, TP 1 misses TPOT at 5/s.", "h100-sxm, TP 2: Wait.", "Next: run K = 2.",
    ]  # fmt: skip
    slow["rows"] = [row, row]
    second = ("Second: l40s, TP 1, 13/s without speculation (8 with). The "
              "90 % intervals of their ")  # fmt: skip
    assert machines_details([slow, fast]) == [
        f"{second}capacities overlap: the second may carry as much. "
        "Prices are not given: machines are ranked by requests a GPU.",
        "h100-sxm, TP 2: Wait.", "l40s, TP 1: No.", "Next: run K = 2.",
    ]  # fmt: skip
    apart = {**slow, f"{most}_without_high": 19.0}
    assert (
        machines_details([apart, fast])[0]
        == f"{second}capacities lie apart. Prices are not given: machines are ranked by "
        "requests a GPU."
    )


def test_a_machine_that_serves_the_rates_is_taken_before_one_that_carries_more() -> None:
    most = "most_requests_per_second"
    row = {"rate": 5, "stable": True, "on_target": True}
    some = {"tp": 1, "schedule": [], f"{most}_without": 1.0}
    fine = {**some, "gpu": "a", most: 6.0, "rows": [row, row]}
    late = {**some, "gpu": "b", most: 9.0, "rows": 2 * [{**row, "stable": False}]}
    assert ranked_machines([late, fine]) == [1, 0]
    assert machines_sentence([late, fine]).startswith("Take a: it carries 5 requests/s")
