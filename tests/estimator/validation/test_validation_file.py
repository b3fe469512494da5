"""The file of a validation: rows that are written are read, and impossible ones named."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimator.intervals import steps_out_of_order
from estimator.validation.file import (
    ENGINE,
    SPECULATIVE,
    SpeculativeRow,
    Validated,
    ValidationRow,
    parse_rows,
    parse_validation,
    read_validation,
    row_doubts,
    validation_json,
)

SPECULATIVE_ROW: dict[str, Any] = {
    "draft": "embedded", "temperature": 0.0, "draft_temperature": 0.0, "policy": "fixed",
    "gamma": 4, "rule": "strict", "lossless": True, "alpha": 0.72, "c": 0.1,
    "predicted_theorem8": 1.9, "predicted_ahead": 1.5, "predicted_ahead_low": 1.4,
    "predicted_ahead_high": 1.6, "predicted": 1.52, "predicted_calibrated": 1.52,
    "measured": 1.5,
    "measured_low": 1.45, "measured_high": 1.55, "predicted_target_calls": 50.0,
    "target_calls": 50, "block_efficiency": 2.5, "accepted_fraction": 0.4, "tokens": 125,
    "identical_to_target": True, "tie_gap": None, "draft_seconds": 1.0, "verify_seconds": 2.0,
    "other_seconds": 1.0, "baseline_tokens_per_second": 20.8, "tokens_per_second": 31.25,
    "end_to_end_predicted": 1.4, "end_to_end_measured": 1.5, "target": "big",
    "prompts_hash": "a1b2", "measured_left_out": [1.49, 1.51], "error_percent": 4 / 3,
}  # fmt: skip
# Rows of other decoders have fields of their own.
ENGINE_ROW: dict[str, Any] = {
    "engine": "llama.cpp", "draft": "small", "temperature": 1.0, "gamma": 2, "concurrency": 2,
    "alpha": 0.6, "acceptance_predicted": [{"value": 0.6, "low": 0.5, "high": 0.7}],
    "predicted": 1.2, "measured": 1.25, "measured_low": None, "measured_high": None,
    "ms_per_token": 20.0, "tokens": 60, "tokens_per_second": 100.0, "error_percent": -4.0,
}  # fmt: skip
BILD_ROW: dict[str, Any] = {
    "draft": "smaller", "temperature": 0.0, "decoder": "bild", "fallback": 0.3, "rollback": 1.0,
    "quality": {"bleu": 22.0}, "measured": 1.18, "measured_low": 1.05, "measured_high": 1.32,
    "predicted": 1.19, "ms_per_token": 5.0, "tokens": 983, "draft_seconds": 1.7, "pareto": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("document", "decoder", "shared"),
    [
        (
            {"rows": [SPECULATIVE_ROW], "summary": {}},
            SPECULATIVE,
            (1.5, 1.45, 1.55, 1.52, None, 31.25, 1.0),
        ),
        (
            {"decoder": "engine", "rows": [ENGINE_ROW], "steps": [], "summary": {}},
            ENGINE,
            (1.25, None, None, 1.2, 20.0, 100.0, None),
        ),
        (
            {"decoder": "bild", "rows": [BILD_ROW], "summaries": []},
            "bild",
            (1.18, 1.05, 1.32, 1.19, 5.0, None, 1.7),
        ),
    ],
)
def test_rows_of_every_decoder_are_read_by_the_shared_names(
    tmp_path: Path, document: dict[str, Any], decoder: str, shared: tuple[object, ...]
) -> None:
    path = tmp_path / "validation.json"
    path.write_text(json.dumps(document))
    read = read_validation(path)
    assert (read.name, read.decoder) == ("validation.json", decoder)
    [row] = read.rows
    found = (
        row.measured, row.measured_low, row.measured_high, row.predicted, row.ms_per_token,
        row.tokens_per_second, row.draft_seconds,
    )  # fmt: skip
    assert found == pytest.approx(shared)
    [written] = document["rows"]
    assert (row.draft, row.temperature, row.gamma, row.tokens, row.alpha) == tuple(
        written.get(name) for name in ("draft", "temperature", "gamma", "tokens", "alpha")
    )
    assert row.error_percent == pytest.approx(100 * (row.predicted / row.measured - 1))


def test_a_file_that_is_written_is_read_as_it_was() -> None:
    [row] = parse_rows([SPECULATIVE_ROW], SpeculativeRow, name="it")
    assert row.data()["predicted_calibrated"] == row.data()["predicted"] == 1.52
    document = json.loads(json.dumps(validation_json(SPECULATIVE, [row], summary={"repeats": 3})))
    assert document["summary"] == {"repeats": 3}
    for name, value in SPECULATIVE_ROW.items():
        written = document["rows"][0][name]
        assert written == (pytest.approx(value) if name == "error_percent" else value)
    assert parse_rows(document["rows"], SpeculativeRow, name="it") == (row,)
    shared = parse_validation(document, name="it")
    assert shared == Validated("it", SPECULATIVE, parse_rows([row.data()], ValidationRow, name=""))


def test_numbers_of_numpy_are_written_as_pythons() -> None:
    row = ValidationRow(draft="d", temperature=0, measured=np.float64(2), tokens=np.int64(3))
    data = row.data()
    assert (type(data["measured"]), type(data["tokens"])) == (float, int)
    assert data["error_percent"] is None


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "a.json has no rows"),
        ({"rows": []}, "a.json has no rows"),
        ({"rows": [3]}, "row 0 of a.json is no row of a validation: Expected `object`, got `int`"),
        (
            {"rows": [SPECULATIVE_ROW, {**SPECULATIVE_ROW, "measured": None}]},
            "row 1 of a.json .*: Expected `float`, got `null` - at `\\$.measured`",
        ),
        (
            {"rows": [{**BILD_ROW, "measured": "fast"}]},
            "row 0 of a.json .*: Expected `float`, got `str` - at `\\$.measured`",
        ),
        (
            {"rows": [{**SPECULATIVE_ROW, "alpha": True}]},
            "Expected `float | null`, got `bool` - at `\\$.alpha`",
        ),
        ({"rows": [{"temperature": 0.0}]}, "missing required field `draft`"),
    ],
)
def test_other_documents_are_refused(document: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_validation(document, name="a.json")


@pytest.mark.parametrize("text", ["{", '{"rows": [{"measured": NaN}]}'])
def test_a_file_that_is_not_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"broken.json must be JSON"):
        read_validation(path)


def row(measured: float, low: float | None, high: float | None, **more: float) -> ValidationRow:
    return ValidationRow(
        draft="d", temperature=0, tokens=9, gamma=int(more.pop("gamma", 1)), measured=measured,
        measured_low=low, measured_high=high, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (row(2.28, 2.2, 2.4), "a speed-up of 2.28 is more than the 2 tokens of a step"),
        (row(5.22, 1.0, 20.0, gamma=3), "a speed-up of 5.22 is more than the 4 tokens of a step"),
        (row(1.9, 1.85, 1.95), "a speed-up of at least 1.85 is more than the 1.80 tokens of a"),
        (row(1.2, 1.1, 682439247.0), "too noisy to use (1.1 to 6.8e+08 times)"),
        (row(1.2, 1.1, float("inf")), "too noisy to use (1.1 to inf times)"),
        (row(1.2, None, None, predicted=2.1), "a predicted speed-up of 2.10 is more than the 2"),
    ],
)
def test_impossible_numbers_are_named(found: ValidationRow, sentence: str) -> None:
    assert sentence in "; ".join(row_doubts(found, tokens_a_call=1.8))


@pytest.mark.parametrize(
    "found",
    [
        row(1.7, 1.5, 1.9, predicted=1.75),
        row(0.5, None, None),
        row(1.85, 1.7, 2.0),  # beyond 1.8 only by chance
        row(1.2, 0.7, 2.0),
    ],
)
def test_surprising_but_possible_rows_have_no_doubt(found: ValidationRow) -> None:
    assert row_doubts(found, tokens_a_call=1.8) == ()


def test_steps_out_of_order_beyond_chance_are_named_with_their_neighbours() -> None:
    seconds = {1: 0.030, 2: 0.010, 4: 0.009, 8: 0.02}
    certain = {(1, 2): (0.2, 0.5), (2, 4): (0.7, 1.1), (4, 8): (1.9, 2.5)}
    found = steps_out_of_order(seconds, lambda a, b: certain[a, b])
    assert found == dict.fromkeys((1, 2), "a step takes 10.00 ms at gamma 2 and 30.00 at gamma 1")
    assert steps_out_of_order(seconds, lambda a, b: (None, None)) == {}
    every = steps_out_of_order(seconds, lambda a, b: (0.2, 0.5))
    assert list(every) == [1, 2, 4, 8]
    assert every[2] == every[1] != every[4] != every[8]
