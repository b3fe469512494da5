"""The report's page, without a browser: its answer, its order, its refusals."""

import hashlib
import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from estimator.profiles.best import best_of
from estimator.profiles.parts import Alpha, DraftAcceptance, Estimate
from estimator.profiles.profile import ClockCheck, Profile, TextDetails, Workload
from estimator.profiles.profile_file import write_profile
from specplan.main import main
from specplan.reports.lengths import lengths_sentence, ranges_of
from specplan.reports.page.page import LIBRARY
from specplan.reports.page.target_sliders import target_explorer
from specplan.reports.profile import profile_text
from tests.specplan.made_profiles import made_profile, made_tuning, made_validation


@pytest.fixture
def reported(tmp_path: Path) -> Callable[..., str]:
    """Returns a function that gives the page of profiles and of other files' objects."""

    def page(*profiles: Profile, **others: object) -> str:
        files = []
        for number, profile in enumerate(profiles):
            files.append(tmp_path / f"{number}.json")
            write_profile(profile, files[-1])
        for name, value in others.items():
            files.append(tmp_path / f"{name}.json")
            files[-1].write_text(json.dumps(value), encoding="utf-8")
        made = run(*map(str, files), "-o", str(tmp_path / "page.html"), "--json")
        assert made.exit_code == 0, made.output
        (tmp_path / "summary.json").write_text(made.stdout)
        return (tmp_path / "page.html").read_text(encoding="utf-8")

    return page


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["report", *arguments])


def headline(page: str) -> str:
    return html.unescape(re.findall(r'class="headline">(.*)</h2>', page)[0])


def test_the_answer_is_the_draft_of_the_largest_gain(reported) -> None:
    worse, best = made_profile("w", alpha=0.5, c=0.2), made_profile("b", alpha=0.8, c=0.1)
    page = reported(worse, best)
    found = best_of(best)
    assert found is not None
    gamma, curve = found.plan.advised_gamma, found.plan.curve
    assert headline(page) == (
        f"Draft with b, K = {gamma}: {curve.improvement_factor[gamma - 1]:.2f} times the speed "
        "without speculation."
    )
    low, high = curve.low[gamma - 1], curve.high[gamma - 1]
    interval = f"90 % interval {low:.2f} to {high:.2f} over 8 prompts."
    assert f"{interval} A gain over no speculation is almost certain" in page
    assert re.findall(r'<th scope="row">([wb])</th><td>\d\.\d\d \[', page) == ["b", "w"]
    assert f"--spec-draft-n-max {gamma}" in page


def test_without_a_likely_gain_the_page_advises_none(reported) -> None:
    """The second's best γ gains by the table, and nothing by the acceptances and costs."""
    made = made_profile("d", alpha=0.8, c=0.1)
    assert made.times is not None
    times = replace(made.times, baseline_overhead_ms=0.0, overhead_ms=60.0)
    unlikely = replace(made, times=times, clock=ClockCheck(0.4, quiet=False))
    for profile, reason in (
        (made_profile("dear", alpha=0.3, c=0.9), "no draft here pays."),
        (unlikely, "a gain of d is not likely."),
    ):
        page = reported(profile)
        assert headline(page) == f"Do not speculate: {reason}"
        assert "# gamma is 0: run the target without a draft" in page
    assert "Do not speculate: the best" in profile_text(unlikely)


def test_a_server_under_traffic_has_its_capacity_its_rows_and_its_charts(reported) -> None:
    command = (
        "traffic --rate 0.5,2,9 --prompt-tokens 9 --output-tokens 50 --prompt-ms 20 --slots 4 "
        "--run gamma=0,tpot=10,batch=1 --run gamma=0,tpot=20,batch=4 "
        "--run gamma=2,tpot=6,length=2,batch=1 --run gamma=2,tpot=30,length=2,batch=4"
    )
    found = json.loads(CliRunner().invoke(main, [*command.split(), "--json"]).stdout)
    page = reported(t=found)
    assert f"{found['break_even_rate']:.3g} requests/s" in headline(page)
    most = "most_requests_per_second"
    ends = [found[f"{most}_{end}"] for end in ("low", "high")]
    capacity = f"{found[most]:.3g} with K = 2 (90 %: {ends[0]:.3g} to {ends[1]:.3g}), the most of"
    assert " requests/s without speculation (90 %: " in page
    assert capacity in page
    for point in found["rows"]:
        cell = f"<td>{point['tpot_ms']:.2f} [" if point["stable"] else "<td>overloaded (max "
        assert cell in page
    assert not found["rows"][-1]["stable"]
    assert "Time to the first token by rate" in page


def test_a_tuning_is_shown_with_its_advice_and_each_run_expected_and_measured(
    reported, tmp_path: Path
) -> None:
    page = reported(made_profile("d", alpha=0.8, c=0.1), t=(found := made_tuning()))
    unstated = {"p_min": 0.0, "not_run": [], "declined": None}
    advised = [{**each, **unstated} for each in json.loads(json.dumps(found["advised"]))]
    [summary] = json.loads((tmp_path / "summary.json").read_text())["tunings"]
    assert summary == {"file": "t.json", "confidence": 0.9, "advised": advised}
    table = page[page.index('<p class="caption">Advice') :]
    rows = re.findall(r'<tr><th scope="row">(\d)</th>(<td>.*</td>)</tr>', table)[:5]
    assert [(at, re.findall(r"<td>(.*?)</td>", cells)) for at, cells in rows] == [
        ("1", ["3", "1.50 [1.25, 1.75]", "96 %", "4.00", "none: 96 %, 5: 75 %"]),
        ("8", ["none", "1.50", "12 %", "-", "-"]),
        ("1", ["none", "-", "6.00", "-", "-"]),
        ("1", ["3", "5.00 [4.00, 6.25]", "4.00", "1.5", "2.50"]),
        ("8", ["5", "5.00 [4.00, 6.25]", "it drafted &lt;4&gt;", "-", "-"]),
    ]
    for words in (
        "Run K = 6 next, and keep it if it is the fastest.",
        "<p>drift 3 %</p>", "<pre>--draft-max 3</pre>",
        "K = 3 is faster than K = 5 with a probability of 75 %.",
        "runs, on EPYC, 2 cores, 2026-11-25.</p>",
        f"Page made by specplan on {date.today()}.",
    ):  # fmt: skip
        assert words in page


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rows": 3}, "got: Expected `array`"),
        (
            {"format": "specplan tune 0"},
            "t.json must have the format 'specplan tune 1', got 'specplan tune 0'",
        ),
    ],
)
def test_a_tuning_that_is_none_is_refused(
    changed: dict[str, object], message: str, tmp_path: Path
) -> None:
    (tmp_path / "t.json").write_text(json.dumps(made_tuning() | changed), encoding="utf-8")
    refused = run(str(tmp_path / "t.json"), "-o", str(tmp_path / "page.html"))
    assert refused.exit_code == 2
    assert message in refused.stderr
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("draft", "flags"),
    [
        ("lookup:3", "--spec-type ngram-simple --spec-ngram-simple-size-n 3"),
        ("exit:4", None),
    ],
)
def test_flags_are_those_of_servers_that_can_draft_so(
    draft: str, flags: str | None, reported
) -> None:
    page = reported(made_profile(draft, alpha=0.5, c=0.01))
    assert f"Draft with {draft}" in headline(page)
    assert ("The flags that set it" in page) == (flags is not None)
    assert flags is None or flags in page


def test_the_answer_is_printed_as_json_too(reported, tmp_path: Path) -> None:
    page = reported(made_profile("d", alpha=0.8, c=0.1))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["headline"] == headline(page)
    assert summary["drafts"][0]["advised_gamma"] == summary["drafts"][0]["gamma"] > 0
    assert "vllm" in summary["flags"]


def test_doubts_are_shown(reported) -> None:
    profile = made_profile("d", alpha=0.8, c=0.1)
    noisy = replace(profile, clock=ClockCheck(0.4, 23.1, quiet=False))
    elsewhere = replace(
        made_profile("e", alpha=0.5, c=0.1), setup=replace(profile.setup, draft="e", target="other")
    )
    page = reported(noisy, elsewhere)
    assert "the baseline&#39;s speed may differ from itself by 23 % (at most 10 % is" in page
    assert "different targets or prompts" in page
    assert page.index("different targets or prompts") < page.index("90 % interval")


@pytest.mark.parametrize("costs", [False, True])
def test_counted_acceptances_are_shown_and_with_costs_answered(costs: bool, reported) -> None:
    profile = made_profile("served", alpha=0.8, c=0.1)
    rates = (Estimate(0.8, 0.7, 0.9), Estimate(0.64))
    page = reported(replace(
        profile, draftings={"sampled": DraftAcceptance(profile.alpha, accepted_by_position=rates)},
        times=profile.times if costs else None, improvement_factor={}, optimal_gamma=None,
        recommended_gamma=None, clock=ClockCheck(),
    ))  # fmt: skip
    assert ("Cost of a block" in page) == costs
    assert ("no costs were measured" in headline(page)) == (not costs)
    assert headline(page).startswith("Draft with served, K = ") == costs
    assert "Acceptance by position" in page


def test_gains_are_shown_by_kind_of_prompt(reported) -> None:
    profile = made_profile("d", alpha=0.8, c=0.1)
    assert "By category" not in reported(profile)
    gamma = profile.optimal_gamma
    assert gamma is not None
    code, prose = (
        Workload(
            Alpha(alpha, alpha - 0.1, alpha + 0.1, 0.95, 90, 3),
            tokens_per_call={gamma: Estimate(alpha + 1, 1.25, 2.25)},
            improvement_factor={gamma: Estimate(alpha + 0.5)},
            optimal_gamma=best,
        )
        for alpha, best in ((0.9, 8), (0.4, 0))
    )
    page = reported(
        replace(profile, details=TextDetails(by_category={"code": code, "prose": prose}))
    )
    assert f'<p class="caption">By category: d, K = {gamma}</p>' in page
    assert (
        '<th scope="row">code</th><td>3</td><td>0.900 [0.800, 1.000]</td>'
        "<td>1.90 [1.25, 2.25]</td><td>1.40</td><td>8</td>"
    ) in page
    assert "<td>0.90</td><td>none</td>" in page


def test_names_are_no_markup_and_nothing_is_loaded_from_elsewhere(reported) -> None:
    page = reported(made_profile("<img src=x onerror=alert(1)></script>", alpha=0.8, c=0.1))
    library = LIBRARY.read_text(encoding="utf-8")
    assert "<img" not in page.replace(library, "")
    assert page.count("</script>") == 3
    own = reported(made_profile("d", alpha=0.8, c=0.1)).replace(library, "")
    links = re.findall(r"""(?:src|href)=["']([^"']*)|url\(|@import|https?://[^"'<]*""", own)
    assert set(links) == {"data:,"}  # the icon


def test_the_library_is_the_published_one() -> None:
    readme = (LIBRARY.parent / "README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(LIBRARY.read_bytes()).hexdigest() in readme
    assert "Apache License" in (LIBRARY.parent / "LICENSE").read_text(encoding="utf-8")


ANSWERS = {
    "Plan": "plan --alpha 0.8 --c 0.05 --json",
    "Plan by batch": "plan --run gamma=0,tpot=10,batch=1 --run gamma=2,tpot=6,length=2,batch=1 "
    "--run gamma=0,tpot=20,batch=4 --run gamma=2,tpot=30,length=2,batch=4 --batch 1,4 --json",
    "Plan by rate": "plan --alpha 0.5,0.9 --c 0.05 --json",
    "Tree": "tree --acceptance-by-rank 0.7,0.12,0.05,0.03 --c 0.05 --max-nodes 12 --json",
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_the_json_of_a_command_is_a_page_without_a_profile(kind: str, reported) -> None:
    printed = CliRunner().invoke(main, ANSWERS[kind].split())
    assert printed.exit_code == 0, printed.output
    found = json.loads(printed.stdout)
    page = reported(answer=found)
    shown = found.get("curve") or found["rows"]
    for point in shown[:2]:
        at = point.get("best") or point.get("drafting") or point
        factor = at["improvement_factor"]
        assert f">{factor:.2f}" in page
    if "advised_gamma" in found:
        assert f"(K = {found['advised_gamma']})" in headline(page)


def test_json_without_a_commands_keys_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"advised_gamma": 2, "curve": []}')
    refused = run(str(path), "-o", str(tmp_path / "page.html"))
    assert refused.exit_code == 2
    assert "plan.json must be the JSON that specplan writes for a plan" in refused.stderr


RUNS = (
    "--run gamma=0,tpot=10,batch=1 --run gamma=0,tpot=20,batch=4 "
    "--run gamma=2,tpot=6,length=2,batch=1 --run gamma=2,tpot=30,length=2,batch=4"
)
TRAFFIC = (
    "traffic --rate 0.5,2 --prompt-tokens 9 --output-tokens 50 --prompt-ms 20 --slots 4 --slo "
    f"tpot=20 {RUNS} --json"
)
DOCS = Path(__file__).parents[3] / "docs"
LLAMA = (
    f"--target-config {DOCS}/configs/llama-3.1-8b.json "
    f"--draft-config {DOCS}/configs/llama-3.2-1b.json --alpha 0.7 --gpu h100"
)
NAMED = {
    **ANSWERS,
    "Traffic": f"{TRAFFIC} --simulate",
    "Burst": TRAFFIC.replace("--rate 0.5,2", "--burst 8").replace("--slo tpot=20 ", ""),
    "Observed": f"observe {DOCS}/examples/answers.jsonl --gamma 4 --c 0.1 --json",
    "Comparison": f"compare {DOCS}/examples/embedded.json {DOCS}/examples/lookup.json --json",
    "Size": "size --rate 10 --prompt-tokens 500 --output-tokens 200 --slo ttft=500,tpot=12 "
    f"--target-config {DOCS}/configs/llama-3.1-8b.json --gpu h100 --gpus-per-replica 1 "
    f"--draft config={DOCS}/configs/llama-3.2-1b.json,alpha=0.7 --json",
    "Tuning": "",
    "Validation": "",
}
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>"
# Strings that programs read: their values are of a fixed set.
FIXED = ("format", "policy", "binds")


def with_evil_names(value: Any, key: str = "") -> Any:
    """Returns a JSON value with markup at the end of each text in it."""
    if isinstance(value, dict):
        return {name: with_evil_names(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [with_evil_names(each, key) for each in value]
    return f"{value} {EVIL}" if isinstance(value, str) and key not in FIXED else value


def answer_of(kind: str) -> Any:
    made = {"Tuning": made_tuning, "Validation": lambda: made_validation("embedded")}
    if kind in made:
        return made[kind]()
    printed = CliRunner().invoke(main, NAMED[kind].split())
    assert printed.exit_code == 0, printed.output
    return json.loads(printed.stdout)


@pytest.mark.usefixtures("few_requests")
@pytest.mark.parametrize("kind", NAMED)
def test_names_in_the_json_of_each_command_are_text_and_never_markup(kind: str, reported) -> None:
    page = reported(
        answer=with_evil_names(answer_of(kind) | {"command": f"specplan --page {EVIL}"})
    )
    own = page.replace(LIBRARY.read_text(encoding="utf-8"), "")
    assert own.count("</script>") == 3
    assert "<img" not in own
    assert "&lt;img src=x" in own


def test_a_plan_by_batch_says_where_speculation_pays_and_where_it_is_undecided(reported) -> None:
    made = CliRunner().invoke(main, f"plan {LLAMA} --batch 1,8,128,300 --json".split())
    found = json.loads(made.stdout)
    decided = ((2, None), (2, None), (0, 1), (0, None))
    for row, (advised, test) in zip(found["rows"], decided, strict=True):
        row |= {"advised_gamma": advised, "test_gamma": test, "first_runs": [1, 0] if test else []}
    ranges = ((1, 90, 2), (91, 250, 1), (251, 300, None))
    found["schedule"] = [
        {"first_batch": first, "last_batch": last, "gamma": 0, "test_gamma": gamma}
        for first, last, gamma in ranges
    ]
    gains = [row["drafting"]["improvement_factor"] for row in found["rows"]]
    found["sentence"] = lengths_sentence(
        found["rows"], ranges_of(found, ["batch"]), "batch", "K = 0 and K = 1 at batch 128"
    )
    page = reported(answer=found)
    low, high = sorted(f"{gain:.2f}" for gain in gains[:2])
    assert headline(page) == (
        f"Draft K = 2 up to batch 90 ({low} to {high} times the speed without speculation); "
        f"expected: K = 1 from batch 91 to 250 ({gains[2]:.2f} times); do not speculate from batch "
        f"251 to 300 (the best K gives {gains[3]:.2f} times). For what is expected, run K = 0 and "
        "K = 1 at batch 128 first."
    )
    unfit = CliRunner().invoke(main, f"plan {LLAMA} --batch 1,99999 --json".split())
    assert "1 of 2 settings do not fit into memory." in json.loads(unfit.stdout)["sure"]


def test_a_validation_shows_the_intervals_of_the_prediction_and_of_the_measurement(
    reported,
) -> None:
    found = made_validation("embedded")
    ahead = {"": 1.5, "_low": 1.125, "_high": 1.875}
    found["rows"][0] |= {f"predicted_ahead{end}": value for end, value in ahead.items()}
    page = reported(answer=found)
    measured = found["rows"][0]
    assert '"high": 1.875, "low": 1.125' in page
    assert f'"high": {measured["measured_high"]}, "low": {measured["measured_low"]}' in page


def test_simulated_traffic_shows_the_share_within_targets(reported) -> None:
    found = answer_of("Traffic")
    page = reported(answer=found)
    assert "Requests within the targets" in page
    for point in found["simulated"]:
        assert f'"y": {100 * point["goodput"] / point["rate"]}' in page


def test_an_undecided_rate_names_the_draft_length_to_measure() -> None:
    grid = {"rates": [1.0, 2.0, 3.0], "tpot_ms": [10.0], "ttft_ms": [None], "gamma": [3, 2, 1]}
    grid |= {"advised": [True, False, False], "undecided": [False, True, False]}
    grid |= {"likely": [True, True, False]}
    grid |= {"share": [1.0, 0.9, 0.8], "share_without": [1.0, 0.9, 0.8]}
    sliders = target_explorer(grid, 2.0, {"tpot": 10.0})
    assert sliders is not None
    assert sliders["outputs"][0]["values"] == [
        "3",
        "undecided: measure K = 2",
        "do not speculate (K = 1 shown)",
    ]
