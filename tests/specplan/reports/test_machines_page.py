"""The page and the picture of `specplan traffic` for several machines."""

import json
from pathlib import Path

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
    kept = "most_requests_per_second_at_share"
    assert section.headline == (
        "h100-sxm carries the most requests a GPU within the targets: "
        f"{machines[0][kept]:.3g} a second with speculation, "
        f"{machines[0][f'{kept}_without']:.3g} without."
    )
    capacities, *times = section.charts
    assert list(capacities.categories) == ["h100-sxm", "l40s"]
    first = capacities.series[0].points[0]
    assert first.y == machines[0]["most_requests_per_second"] / machines[0]["tp"]
    assert first.low == machines[0]["most_requests_per_second_low"]
    names = {
        f"{name}, {way}"
        for name in capacities.categories
        for way in ("with speculation", "without")
    }
    assert {line.name for chart in times for line in chart.series} == names
    assert [level.y for chart in times for level in chart.levels] == [40, 900]
    assert section.export.startswith("With --engine SERVER")
    # Beyond its capacity a machine has no point.
    assert [point.x for line in times[0].series if line.name.startswith("l40s")
            for point in line.points] == [2, 2]  # fmt: skip
