"""All intervals have one level, and every JSON object that has intervals names it."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from click.testing import CliRunner

from estimator.profiles.best import with_intervals
from estimator.profiles.parts import Alpha, DraftAcceptance, Estimate
from estimator.profiles.profile import ClockCheck
from estimator.profiles.profile_file import read_profile, write_profile
from estimator.validation.file import parse_validation
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.from_counts import from_counts
from simulator.numerics.intervals import CONFIDENCE, percent, wilson
from specplan.main import main
from specplan.reports.page.inputs import Named
from specplan.reports.page.profiles import ranked
from specplan.reports.profile import profile_text
from tests.engines.metrics_pages import LOG
from tests.specplan.made_profiles import made_profile
from tests.specplan.test_every_option import commands

SMALL = "--num-prompts 2 --max-new-tokens 8 --repeats 1 --max-gamma 2"
RUNS = "--run gamma=0,tpot=9 --run gamma=2,tpot=6,length=2"
CONFIGS = Path(__file__).parents[2] / "docs" / "configs"
SIZED = (
    f"--target-config {CONFIGS}/llama-3.1-8b.json --gpu h100 --gpus-per-replica 1 "
    f"--draft config={CONFIGS}/llama-3.1-8b-eagle3.json,alpha=0.8"
)
# Arguments by command; FILE is a profile of today, OLD one of 95 %, NEW is written.
EXAMPLES = {
    "plan": "--profile FILE",
    "plan --alpha 0.7": RUNS,
    "size": f"{SIZED} --rate 40 --prompt-tokens 1000 --output-tokens 300 --slo ttft=500,tpot=8",
    "traffic": f"{RUNS} --prompt-ms 9 --rate 2 --prompt-tokens 100 --output-tokens 50 --slots 8",
    "measure": f"--target embedded --draft embedded {SMALL} --time-limit 1 -o NEW",
    "validate": f"{SMALL[: -len(' --max-gamma 2')]} --time-limit 1 --temperature 0 --gamma 2",
    "tune": f"{SMALL} --max-runs 1 --prompt-tokens 8",
    "report": "FILE OLD -o NEW",
    "compare": "FILE OLD",
    "observe": "LOG",
}
# Their own tests look at the level, since they train models first.
ELSEWHERE = {"align", "heads analyse"}
NO_INTERVALS = {
    "generate", "figures", "ngram train", "ngram info", "ngram score", "heads train", "tree",
}  # fmt: skip
END = re.compile(r"(?:^|_)(?:low|high)$")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Returns the files of EXAMPLES by their word."""
    found = {name: tmp_path / name for name in ("FILE", "OLD", "NEW", "LOG")}
    write_profile(made_profile("draft", alpha=0.7, c=0.1), found["FILE"])
    old = json.loads(found["FILE"].read_text())
    for holder in (old, *old["draftings"].values()):
        holder["alpha"]["confidence"] = 0.95
    found["OLD"].write_text(json.dumps(old))
    found["LOG"].write_text(LOG)
    return found


def levels(data: Any, level: float | None = None, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every interval's path, with the level that the nearest object around it names."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(data, list | dict):
        parts = enumerate(data) if isinstance(data, list) else data.items()
    for key, value in parts:
        yield from levels(value, level_of(data, level), f"{path}.{key}")
        if isinstance(key, str) and END.search(key) and isinstance(value, float):
            yield f"{path}.{key}", level_of(data, level)


def level_of(data: Any, outer: float | None) -> float | None:
    """Returns the level that an object names, itself or by its alpha, as profiles do."""
    named = data if isinstance(data, dict) else {}
    for each in (named, named.get("alpha")):
        if isinstance(each, dict) and "confidence" in each:
            return each["confidence"]
    return outer


def test_every_command_that_prints_json_is_looked_at() -> None:
    printing = {
        " ".join(words)
        for words, command in commands()
        if any("--json" in param.opts for param in command.params)
    }
    assert printing == {each.split(" --")[0] for each in EXAMPLES} | ELSEWHERE | NO_INTERVALS


@pytest.mark.usefixtures("few_requests")
@pytest.mark.parametrize("command", EXAMPLES)
def test_every_interval_is_of_one_level_and_names_it(command: str, files: dict[str, Path]) -> None:
    words = [str(files.get(word, word)) for word in f"{command} {EXAMPLES[command]}".split()]
    result = CliRunner().invoke(main, [*words, "--json"])
    assert result.exit_code == 0, result.output
    found = dict(levels(json.loads(result.stdout)))
    former = {path for path in found if re.search(r"drafts\.\d\.(alpha|c)\.", path)}
    assert {found[path] for path in found.keys() - former} == {CONFIDENCE}
    assert {found[path] for path in former} == ({CONFIDENCE, 0.95} if former else set())
    if command == "measure":
        written = read_profile(files["NEW"])
        assert with_intervals(written) == written


def test_a_gamma_has_one_interval_by_every_road(tmp_path: Path) -> None:
    """Measure's table and advice, plan and the page print one interval of a K."""
    made = with_intervals(made_profile("draft", alpha=0.7, c=0.1))
    path = tmp_path / "p.json"
    write_profile(made, path)
    planned = CliRunner().invoke(main, ["plan", "--profile", str(path), "--json"])
    plan = json.loads(planned.stdout)
    ends = {
        gamma: pytest.approx([point["improvement_factor_low"], point["improvement_factor_high"]])
        for gamma, point in enumerate(plan["curve"], start=1)
    }
    for gamma, own in made.improvement_factor.items():
        assert [own.low, own.high] == ends[gamma]
    text, advised = " ".join(profile_text(made).split()), made.improvement_factor[3]
    assert plan["advised_gamma"] == 3
    assert f"(K = 3): {advised.replay:.2f} times" in text
    assert f"({advised.low:.2f} to {advised.high:.2f})" in text
    assert f"{advised.replay:.2f} [{advised.low:.2f}, {advised.high:.2f}]" in text
    former = made_profile("draft", alpha=0.7, c=0.1)  # whose intervals are other ones
    [section] = ranked([Named("draft", "p.json", former)])
    assert section.best is not None
    assert [section.best.gain.low, section.best.gain.high] == ends[section.best.gamma]


def test_few_prompts_widen_an_interval_to_student_s() -> None:
    made = replace(made_profile("draft", alpha=0.7, c=0.1), clock=ClockCheck())
    assert made.left_out is not None
    logs = np.log(made.left_out.improvement_factor[4])
    error = np.sqrt((len(logs) - 1) * logs.var())
    own = with_intervals(made).improvement_factor[4]
    assert own.high is not None
    # The interval is linear between the quantiles of 2,039 draws.
    expected = scipy.stats.t.ppf(0.95, 7) * error
    assert np.log(own.high / own.replay) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_doubt_follows_the_level_that_a_file_names(level: float) -> None:
    """Counts give one doubt at every level of the interval around them."""
    ends = wilson(70, 100, confidence=level)
    drafting = DraftAcceptance(
        Alpha(0.7, *ends, level), accepted_by_position=(Estimate(0.7, *ends),)
    )
    _, covariance = drafting.acceptance.log_lengths(np.array([1]))
    _, counted = from_counts([Accepted.of_rates([0.7], drafts=100)]).log_lengths(np.array([1]))
    assert covariance == pytest.approx(counted, rel=1e-6)
    reach = np.log([end / (1 - end) for end in ends])
    deviations = scipy.stats.norm.ppf((1 + level) / 2)
    assert drafting.alpha.logit_error == pytest.approx((reach[1] - reach[0]) / 2 / deviations)


def test_a_validation_names_its_level() -> None:
    row = {"draft": "d", "temperature": 0, "measured": 2, "tokens": 9, "measured_low": 1.5}
    assert parse_validation({"rows": [row]}, name="v.json").confidence == CONFIDENCE
    assert parse_validation({"rows": [row], "confidence": 0.95}, name="v.json").confidence == 0.95
    with pytest.raises(ValueError, match=r"confidence of v\.json .* < 1\.0"):
        parse_validation({"rows": [row], "confidence": 1.5}, name="v.json")


def test_levels_of_several_files_are_all_named() -> None:
    assert percent() == "90 %"
    assert percent(0.95, 0.9, 0.95) == "90 and 95 %"
