"""Measured drafts are ranked by speed-up, each within its own measurement, and paired by prompt."""

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from estimator.profiles.profile import Profile
from simulator.choice.odds import percentage
from specplan.api.planning import exported
from specplan.main import main
from specplan.reports.page.inputs import Named, read_inputs
from specplan.reports.page.page import section
from specplan.reports.page.pictures import Section
from specplan.reports.page.profiles import profiles_section
from tests.specplan.made_profiles import made_profile

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


def section_of(*profiles: Profile) -> Section:
    named = [
        Named(profile.setup.draft, f"{at}.json", profile) for at, profile in enumerate(profiles)
    ]
    return profiles_section(named, exported)


def slower(profile: Profile, times: float) -> Profile:
    """Returns the profile as a machine of another speed would measure it."""
    before = profile.times
    assert before is not None
    changed = replace(
        before,
        target_ms={n: times * ms for n, ms in before.target_ms.items()},
        drafting_ms={n: times * ms for n, ms in before.drafting_ms.items()},
        draft_ms=times * before.draft_ms,
        overhead_ms=times * before.overhead_ms,
        baseline_overhead_ms=times * before.baseline_overhead_ms,
    )
    return replace(profile, times=changed)


def test_a_slower_machine_changes_neither_the_ranking_nor_the_costs_of_a_block() -> None:
    best, other = made_profile("b", alpha=0.8, c=0.1), made_profile("o", alpha=0.7, c=0.1)
    alike, apart = section_of(best, other), section_of(slower(best, 1.3), other)
    assert [row[:3] for row in alike.tables[0].rows] == [row[:3] for row in apart.tables[0].rows]
    costs = [
        [point.y for series in section.charts[-1].series for point in series.points]
        for section in (alike, apart)
    ]
    assert costs[0] == pytest.approx(costs[1])
    sentence = "A token without speculation took 13.13 (b), 10.10 (o) ms, 30 % apart"
    assert any(sentence in line for line in apart.sure)
    assert any("0 % apart" in line for line in alike.sure)
    assert not any("apart" in line for line in section_of(best).sure)


def test_a_draft_that_prompts_do_not_distinguish_from_the_best_is_named() -> None:
    files = [EXAMPLES / "embedded.json", EXAMPLES / "lookup.json"]
    drafts = profiles_section(read_inputs(files).profiles, exported)
    compared = CliRunner().invoke(main, ["compare", *map(str, files), "--json"])
    row = json.loads(compared.stdout)["differences"][-1]
    assert " and " in row["number"]
    assert not row["told_apart"]
    assert drafts.headline == (
        f"Take lookup with K = 8 ({row['b']:.2f} times the speed without speculation) for now: it "
        f"is faster than embedded with K = 3 ({row['a']:.2f} times) with a probability of "
        f"{percentage(row['higher_probability'])}, and 8 prompts do not decide it."
    )
    # The line has the names of both drafts, and the counts of `specplan compare`.
    said = json.loads(compared.stdout)
    [count] = re.findall(r"About .+? have 8\.", said["verdict"])
    assert any(line.endswith(count) and "embedded accepts" in line for line in drafts.sure)
    # Each draft has its interval, odds and flags, and the longest that was timed is named.
    for name, gamma in (("lookup", 8), ("embedded", 3)):
        assert any(line.startswith(f"{name}, K = {gamma}: 90 % interval") for line in drafts.sure)
        assert f"{name}, vllm" in drafts.flags
    assert next(line for line in drafts.sure if "longer was not timed" in line).startswith("K = 8 ")
    assert drafts.basis.startswith("Rests on measurements. lookup: 8 prompts, cpu, 2026-")
    assert said["next_commands"][-1] == "specplan compare a.json b.json"
    assert all("--num-prompts 270 " in command for command in said["next_commands"][:2])
    assert "# Planned with" not in "".join(drafts.flags.values())  # both ways draft alike


def test_a_comparison_has_the_odds_of_both_sides_and_their_flags(tmp_path: Path) -> None:
    files = [str(EXAMPLES / f"{name}.json") for name in ("embedded", "lookup")]
    page = tmp_path / "page.html"
    text = CliRunner().invoke(main, ["compare", *files, "--page", str(page)]).stdout
    text = " ".join(text.split())
    assert "Faster than no speculation: A with K = 3 (almost certain, over 99 %), B with" in text
    assert "Next: measure both over 270 prompts (--num-prompts 270), and compare." in text
    assert "K = 8 is the longest that was timed of B: its command goes to 16." in text
    assert "timed of A" not in text
    shown = page.read_text()
    assert text.startswith("Take B with K = 8 (")
    assert shown.index("<summary>B = lookup, vllm") < shown.index("<summary>A = embedded, vllm")
    for words in ("A = embedded, vllm", "B = lookup, vllm", "--num-prompts 270 -o a.json"):
        assert words in shown


def test_a_validation_has_the_command_of_its_fastest_row() -> None:
    [document] = read_inputs([EXAMPLES / "validated.json"]).documents
    [command] = section(document).flags.values()
    assert command.endswith("--draft embedded --gamma 4 --temperature 0")
    result = CliRunner().invoke(main, [*command.split()[1:], "--max-new-tokens", "4"])
    assert result.exit_code == 0, result.output


def test_an_observed_server_names_the_costs_that_were_stated(tmp_path: Path) -> None:
    words = ["observe", str(EXAMPLES / "answers.jsonl"), "--gamma", "4"]
    path = tmp_path / "observed.html"
    costs = ["--target-ms", "5.67", "--draft-ms", "0.5", "--page", str(path)]
    assert CliRunner().invoke(main, [*words, *costs]).exit_code == 0
    basis = f"Rests on 1,259 counted drafts (read on {date.today()}) and your times."
    assert basis in path.read_text()
    # The page of its JSON has it, too.
    answer = tmp_path / "observed.json"
    answer.write_text(CliRunner().invoke(main, [*words, *costs[:4], "--json"]).stdout)
    [document] = read_inputs([answer]).documents
    assert section(document).basis == basis
    [covered] = [line for line in section(document).sure if line.startswith("Intervals")]
    assert covered.startswith(
        "Intervals (90 %) and odds are of the acceptance only: your times (5.67 ms a target step, "
        "c 0.0882, checking K + 1 tokens as fast as one) are taken as exact. To cover times, too, "
        "state runs in their place: --run gamma=0,tpot=MS and --run gamma=4,tpot=MS,length=L, each "
    )
    printed = CliRunner().invoke(main, [*words, *costs[:4]]).stdout
    assert covered.replace("K", "gamma") in " ".join(printed.split()).replace("K", "gamma")
    assert "Accepted: 44 % of 4,916 drafted tokens" in " ".join(section(document).sure)


def test_an_observed_plan_from_runs_covers_the_times() -> None:
    words = ["observe", str(EXAMPLES / "answers.jsonl"), "--gamma", "4", "--run"]
    printed = CliRunner().invoke(main, [*words, "gamma=0,tpot=2.9,error=3", "--json"]).stdout
    assert json.loads(printed)["intervals"] == ""


def test_a_draft_that_prompts_distinguish_stands_alone() -> None:
    drafts = section_of(made_profile("b", alpha=0.8, c=0.1), made_profile("o", alpha=0.6, c=0.1))
    assert drafts.headline.startswith("Draft with b, K = ")
    assert any("almost certain (" in line and "Take b: o is" in line for line in drafts.sure)
