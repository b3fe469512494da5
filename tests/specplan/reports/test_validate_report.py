"""The readable form of a validation."""

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from estimator.timing.rates import Noise
from estimator.timing.threads import Threads
from estimator.validation.file import SpeculativeRow
from estimator.validation.validation import Validation, summary
from simulator.cost.curves import CostModel
from specplan.reports.validation import rows_table, summary_lines

ROW = SpeculativeRow(
    draft="small", temperature=0.0, draft_temperature=0.0, policy="fixed", gamma=4, rule="strict",
    lossless=True, alpha=0.61234, c=0.1, predicted_theorem8=2.0, predicted_ahead=1.5,
    predicted_ahead_low=1.4, predicted_ahead_high=1.6, predicted=1.52, measured=1.6,
    measured_low=1.55, measured_high=1.65, predicted_target_calls=50.0, target_calls=50,
    block_efficiency=2.5, accepted_fraction=0.4, tokens=125, identical_to_target=True, tie_gap=None,
    draft_seconds=1.0, verify_seconds=2.0, other_seconds=1.0, baseline_tokens_per_second=10.0,
    ms_per_token=62.5, tokens_per_second=16.0, end_to_end_predicted=1.4, end_to_end_measured=1.5,
)  # fmt: skip
COST = CostModel(target_seconds={1: 0.010, 5: 0.013}, draft_seconds=0.001, overhead_seconds=0.0005)


def validation(*rows: SpeculativeRow) -> Validation:
    return Validation(rows, COST, Noise(0.0125, 0.002, 8), 3, 8)


def text(*rows: SpeculativeRow, wide: bool = False) -> str:
    return rows_table(validation(*rows), wide=wide)


def lines_of(*rows: SpeculativeRow, **changes: Any) -> list[str]:
    found = [dataclasses.replace(validation(*rows), **changes)]
    return summary_lines(summary(found), found).splitlines()


def numbers_of(*rows: SpeculativeRow, **changes: Any) -> list[str]:
    """Returns the numbers of the summary, in order."""
    return re.findall(r"\d+(?:\.\d+)?", summary_of(*rows, **changes))


def summary_of(*rows: SpeculativeRow, **changes: Any) -> str:
    return " ".join(" ".join(lines_of(*rows, **changes)).split())


def test_a_row_shows_prediction_and_measurement_within_80_columns() -> None:
    heading, header, row = text(ROW).splitlines()
    assert heading == "draft small, temperature 0: alpha 0.612, c 0.100"
    assert header.split()[:3] == ["policy", "free", "predicted"]
    assert row.split() == [
        "K=4", "2.00", "1.52", "1.60", "[1.55,", "1.65]", "-5.0", "%", "62.50", "16.0", "<-",
    ]  # fmt: skip
    argmax = text(replace(ROW, temperature=1.0)).splitlines()[0]
    assert argmax.startswith("draft small, temperature 1, draft 0: alpha ")
    long = replace(
        ROW, policy="confidence:0.5", gamma=None, identical_to_target=False, tie_gap=0.031
    )
    _, header, _, last = text(ROW, long).splitlines()
    assert len(header) <= 80
    assert last.endswith("  TEXT DIFFERS (0.031)")


def test_an_error_has_the_interval_that_it_has_on_these_prompts() -> None:
    row = replace(ROW, error_percent_low=-6.2, error_percent_high=-3.6)
    assert "  -5.0±1.3 %  " in text(row).splitlines()[2]
    assert "  -5±15 %  " in text(replace(row, error_percent_high=23.8)).splitlines()[2]
    assert "measured [90 %]" in text(row)
    assert "Measured: where the speed-up of other prompts may lie," in summary_of(row)
    assert "Before the run: where the measurement of these prompts may lie," in summary_of(row)


def test_wide_adds_where_the_time_went() -> None:
    row = text(ROW, wide=True).splitlines()[2]
    assert row.split()[10:] == [
        "50", "1.50", "[1.40,", "1.60]", "25/50/25", "%", "<-",
    ]  # fmt: skip


def test_the_summary_has_the_measurements_and_their_errors() -> None:
    assert max(map(len, lines_of(ROW))) <= 80
    numbers = " ".join(numbers_of(ROW))
    assert numbers.startswith("8 125 3 ")  # prompts, tokens, timings
    assert "10.0 1.00 4 1.30 0.50" in numbers  # ms of both steps, K with its steps, overhead
    assert "1.2 90 0.4" in numbers  # the baseline against itself
    assert numbers.endswith("4 1.60 90 1.55 1.65 5.0 5.0 5.0")  # the K to run, and errors
    once = " ".join(numbers_of(ROW, repeats=1))
    assert once == numbers.replace("8 125 3", "8 125", 1)
    threads = Threads(1, 2, 0.71)
    assert threads.sentence in summary_of(ROW, threads=threads)


def test_the_fastest_row_is_marked_if_it_gains() -> None:
    rows = [replace(ROW, measured=measured) for measured in (1.6, 1.7, 0.9)]
    lines = text(*rows).splitlines()[2:]
    assert ["<-" in line for line in lines] == [False, True, False]
    assert "<-" not in text(*(replace(row, measured=row.measured / 1.7) for row in rows))


def test_a_machine_that_was_not_quiet_is_named() -> None:
    # Student's t of 8 degrees reaches 1.860 standard errors.
    quiet, differs, scatters = Noise(0.099, 0.051, 8), Noise(0.101, 0.0, 8), Noise(0.0, 0.052, 8)
    for noise, named in ((quiet, False), (differs, True), (scatters, True)):
        assert ("not quiet" in summary_of(ROW, noise=noise)) == named


def unpredicted(row: SpeculativeRow, **changes: Any) -> SpeculativeRow:
    names = {name: None for name in row.__struct_fields__ if name.startswith("predicted")}
    return replace(row, **names, end_to_end_predicted=None, **changes)


def test_missing_numbers_of_a_row_are_dashes() -> None:
    ends = ("predicted_ahead_low", "predicted_ahead_high", "measured_low", "measured_high")
    cells = text(replace(ROW, **dict.fromkeys(ends)), wide=True).splitlines()[2].split()
    assert cells[1:5] == ["2.00", "1.52", "1.60", "-5.0"]
    assert cells[8:10] == ["50", "1.50"]
    row = unpredicted(ROW, policy="adaptive", gamma=None)
    assert text(row).splitlines()[2].split()[:4] == ["adaptive", "-", "-", "1.60"]
    assert "No speed-up was predicted" in summary_of(row)
    assert text(replace(ROW, c=None)).splitlines()[0].endswith("alpha 0.612, c -")


@pytest.mark.parametrize(("gap", "cell"), [(0.0, "DIFFERS (0)"), (0.03125, "DIFFERS (0.031)")])
def test_text_that_parts_at_a_near_tie_says_how_near(gap: float, cell: str) -> None:
    parted = replace(ROW, identical_to_target=False, tie_gap=gap)
    assert cell in text(parted)
    assert f"are at most {gap:.3g} apart" in summary_of(ROW, parted)
    assert "apart" not in summary_of(ROW)


def test_a_lossy_row_says_so_and_blames_no_tie() -> None:
    lossy = replace(ROW, rule="lenient 0.5", lossless=False, identical_to_target=False, tie_gap=2.0)
    assert "K=4, lossy" in text(lossy)
    printed = summary_of(lossy)
    assert "lenient 0.5" in printed
    assert "apart" not in printed


def test_a_long_path_is_shown_by_its_end() -> None:
    path = "/somewhere/deep/down/models/small-draft"
    heading = text(replace(ROW, draft=path)).splitlines()[0]
    assert heading.startswith("draft ...wn/models/small-draft, temperature 0:")


def test_the_summary_leaves_out_rows_without_prediction() -> None:
    rows = (ROW, unpredicted(ROW, policy="adaptive", gamma=None))
    found = summary(
        [
            Validation(rows, COST, Noise(-0.01, 0.002, 4), 1, 3, 2.5, Threads(1, 2, 0.71)),
            Validation(rows, COST, Noise(0.03, 0.001, 4), 2, 5, 2.75),
        ]
    )
    assert found == {
        "mean_abs_error_percent": pytest.approx(5.0),
        "max_abs_error_percent": pytest.approx(5.0),
        "noise_percent": pytest.approx(3.0),
        "noise_within_percent": pytest.approx(100 * np.expm1(2.131847 * 0.002), rel=1e-6),
        "quiet": True,
        "precision_percent": 2.75,
        "repeats": 1,
        "threads": 1,
        "free_cores": 0.71,
    }


def test_a_row_that_says_something_impossible_is_marked_and_never_the_best() -> None:
    doubted = replace(ROW, measured=9.0, doubts=("a speed-up of 9.00 is more than 5 tokens",))
    plain, marked = text(ROW, doubted).splitlines()[2:]
    assert plain.endswith("  <-")
    assert marked.endswith("  !")
    assert doubted.doubts[0] in summary_of(ROW, doubted)
    assert "doubt" not in summary_of(ROW)


def test_the_summary_says_how_precise_the_clock_was_on_how_many_prompts() -> None:
    found = [
        dataclasses.replace(validation(ROW), prompts=prompts, precision_percent=percent)
        for prompts, percent in ((5, 2.04), (8, 1.5))
    ]
    lines = " ".join(summary_lines(summary(found), found).split())
    assert "5 to 8 prompts, 250 tokens" in lines
    assert "Timing noise: ± 2.0 % (90 %) in the noisiest row" in lines


@pytest.mark.parametrize(
    ("measured", "sentence"),
    [
        (1.6, "Run K = 4: 1.60 times the speed without speculation (90 %: 1.55 to 1.65); K = 8, "),
        (0.9, "Do not speculate: the fastest, K = 4, ran at 0.90 "),
    ],
)
def test_the_last_sentence_names_the_fastest_row(measured: float, sentence: str) -> None:
    slower = replace(ROW, gamma=8, measured=measured - 0.1)
    assert sentence in summary_of(slower, replace(ROW, measured=measured))


def test_a_faster_row_in_doubt_is_no_baseline_beaten_by_nothing() -> None:
    doubtful = replace(ROW, gamma=8, measured=1.33, doubts=("made",))
    printed = summary_of(doubtful, replace(ROW, measured=0.9))
    assert "The fastest row without doubt, K = 4, ran at 0.90 " in printed
    assert "measure them again." in printed


def test_numbers_that_say_nothing_do_not_widen_the_table() -> None:
    wild = replace(
        ROW, policy="adaptive", gamma=None, predicted=99.0, measured=9.5, measured_low=0.01,
        measured_high=682439247.0, ms_per_token=123.45, tokens_per_second=12345.6,
    )  # fmt: skip
    best = replace(ROW, predicted=19.99, measured=9.99, tokens_per_second=12345.6)
    assert max(map(len, text(best, wild).splitlines())) <= 80
