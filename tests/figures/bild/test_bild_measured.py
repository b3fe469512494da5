"""Our sweeps beside the paper's tables: what is chosen from them, and that it is the file's."""

import json
from dataclasses import replace
from importlib.resources import files

import pytest

from figures.bild import fig4, fig5, fig10
from figures.bild.measured import NO_LOSS, Row, Sweep, measured
from figures.bild.tables import PAPER, Line, cell, measured_line
from figures.bild.trade_off import front
from figures.tables import TABLES

LARGE = Row("large", None, None, None, 20.0, 1.0, 1.0, 1.0, 100.0, 0.0)
BILD = replace(LARGE, decoder="bild", fallback=0.5, rollback=2.0, most=10)
SWEEP = Sweep(
    "translation",
    "unaligned",
    "greedy",
    "bleu",
    4,
    (
        LARGE,
        replace(BILD, quality=19.9, speedup=1.2),
        replace(BILD, quality=19.89, speedup=1.3),
        replace(BILD, quality=19.0, speedup=1.4, low=1.3, high=1.5),
        replace(BILD, decoder="window", quality=25.0, speedup=9.0, fallback=0.0),
    ),
)


def test_the_fastest_row_loses_no_more_than_it_may() -> None:
    kept = [SWEEP.fastest(SWEEP.of("bild"), loss=loss) for loss in (0.0, NO_LOSS, 1.0)]
    assert [None if row is None else row.speedup for row in kept] == [None, 1.2, 1.4]


def test_a_window_is_not_bild() -> None:
    assert [row.speedup for row in SWEEP.of("bild")] == [1.2, 1.3, 1.4]


def test_a_front_has_no_row_that_another_beats() -> None:
    rows = [replace(BILD, quality=q, speedup=s) for q, s in [(3, 1.0), (2, 2.0), (2, 1.5), (1, 1)]]
    assert [(row.quality, row.speedup) for row in front(rows)] == [(2, 2.0), (3, 1.0)]


def test_a_cell_tells_quality_speed_and_interval() -> None:
    row = SWEEP.rows[3]
    text = cell(measured_line(SWEEP, "BiLD", row), percentages=True)
    assert text == "19.00  1.40× [1.30, 1.50]  100.0 / 0.0 %"
    assert cell(measured_line(SWEEP, "BiLD", None), percentages=False) == "none"


def lines_of(number: int) -> tuple[Line, ...]:
    return TABLES[f"bild-table{number}"].compute().rows


@pytest.mark.parametrize("number", [1, 3, 4, 5])
def test_tables_have_the_papers_lines_and_ours(number: int) -> None:
    assert {line.whose for line in lines_of(number)} == {PAPER, "ours"}


def test_the_table_of_nucleus_sampling_has_our_sweeps_of_it() -> None:
    ours = {line.dataset for line in lines_of(5) if line.whose != PAPER}
    nucleus = [sweep for sweep in measured().sweeps if sweep.sampling == "nucleus 0.8"]
    assert ours == {sweep.task for sweep in nucleus}


def test_published_numbers_are_the_printed_ones() -> None:
    paper = [line for line in lines_of(1) if line.whose == PAPER]
    assert len(paper) == 20
    # "an average speedup of 1.50x ... without any degradation"; "1.70x" with 1 point (4.2).
    for method, mean in (("unaligned, no loss", 1.49), ("unaligned, 1 point", 1.695)):
        factors = [line.speedup for line in paper if line.method == method]
        assert sum(f for f in factors if f is not None) / 4 == pytest.approx(mean)


def test_numbers_of_ours_are_those_of_the_file() -> None:
    document = json.loads((files("figures") / "results" / "bild.json").read_text(encoding="utf-8"))
    rows = [row for sweep in document["sweeps"] for row in sweep["rows"]]
    ours = [line for line in lines_of(1) if line.whose != PAPER and line.speedup]
    assert ours
    assert {line.speedup for line in ours} <= {row["speedup"] for row in rows}
    assert len(rows) == sum(len(sweep.rows) for sweep in measured().sweeps)
    drawn = [point for point in fig4.compute().rows if point.whose == "ours"]
    greedy = [row for sweep in measured().sweeps if sweep.sampling == "greedy"
              for row in sweep.rows]
    assert [point.quality for point in drawn] == [row.quality for row in greedy]


def test_ablations_are_told_apart() -> None:
    assert [
        fig5.ablation(decoder, rollback)
        for decoder, rollback in [("bild", 2.0), ("bild", None), ("window", 2.0), ("window", None)]
    ] == ["BiLD", "no rollback", "no fallback", "neither"]


def test_curves_by_threshold_leave_windows_out() -> None:
    assert {point.decoder for point in fig10.compute().rows} == {"bild"}
    assert {point.decoder for point in fig5.compute().rows} == {"bild", "window"}
