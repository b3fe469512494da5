"""`scripts/golden.py`: what it masks, what it leaves, and when it says that answers differ."""

import json
import subprocess
import sys
from pathlib import Path

from golden_masks import comparable, comparable_errors, stilled

SCRIPT = Path(__file__).parents[2] / "scripts" / "golden.py"
MEASURED = {
    "alpha": {"value": 0.12345678, "low": None},
    "c": {"value": 0.3, "low": None},
    "improvement_factor": {"4": {"replay": 1.7}},
    "setup": {"seed": 7, "python": "3.11.7"},
}


def test_a_clocks_numbers_are_masked_where_a_clock_ran_and_others_rounded() -> None:
    timed = json.loads(comparable(json.dumps(MEASURED), "specplan measure --json"))
    assert timed == {
        "alpha": {"value": 0.123457, "low": None},
        "c": {"value": "clock", "low": None},
        "improvement_factor": {"4": {"replay": "clock"}},
        "setup": {"seed": 7, "python": "masked"},
    }
    engine = "specplan measure --engine llama.cpp --json"
    assert json.loads(comparable(json.dumps(MEASURED), engine))["improvement_factor"] == "masked"
    planned = json.loads(comparable(json.dumps(MEASURED), "specplan plan --json"))
    assert planned["improvement_factor"] == MEASURED["improvement_factor"]


def test_text_keeps_all_but_durations_and_long_floats() -> None:
    text = "8 tokens in 3 target calls, 0.12 s, alpha 0.69314718"
    assert comparable(text, "specplan generate") == (
        "8 tokens in 3 target calls, CLOCK s, alpha 0.693147"
    )
    assert comparable("19 ms", "specplan plan") == "19 ms"
    said = "Warning: not quiet\nError: gamma must be at least 1, got 0\n"
    assert comparable_errors(said, "specplan validate") == said.splitlines(keepends=True)[1]
    assert comparable_errors(said, "specplan plan") == said
    slow = "train: loading the models …\nError: order must lie in [1, 6], got 9\n"
    assert comparable_errors(slow, "specplan ngram train") == slow.splitlines(keepends=True)[1]


def test_a_still_clock_shows_the_same_at_each_reading() -> None:
    still = stilled(MEASURED)
    assert still["improvement_factor"] == {"4": {"replay": 1.4}}
    assert still["c"] == {"value": 0.1, "low": None}
    assert (still["alpha"], still["setup"]) == (MEASURED["alpha"], MEASURED["setup"])


def test_answers_that_differ_or_lack_are_shown_and_are_exit_status_1(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder, answer in ((before, "gamma 4\n"), (after, "gamma 5\n")):
        folder.mkdir()
        (folder / "plan.txt").write_text(answer)
        (folder / "same.txt").write_text("alpha 0.8\n")
    (before / "gone.txt").write_text("was here\n")
    command = [sys.executable, str(SCRIPT), "compare", str(before)]
    same = subprocess.run([*command, str(before)], capture_output=True, text=True, check=False)
    assert (same.returncode, same.stdout) == (0, "0 of 3 cases differ\n")
    other = subprocess.run([*command, str(after)], capture_output=True, text=True, check=False)
    assert other.returncode == 1
    lines = other.stdout.splitlines()
    assert {"-gamma 4", "+gamma 5", "-was here"} <= set(lines)
    assert lines[-1] == "2 of 3 cases differ"
