"""Figures that are drawn from a validation."""

from pathlib import Path
from typing import Any

import pytest

from estimator.validation.file import Validated, parse_validation
from figures.drawing import short_name
from figures.leviathan import tables
from figures.ours import predicted_measured
from figures.registry import FIGURES, save_image

ROW: dict[str, Any] = {
    "draft": "embedded", "temperature": 0, "policy": "fixed", "gamma": 4, "alpha": 0.72,
    "predicted": 1.52, "measured": 1.5, "measured_low": 1.4, "measured_high": 1.6,
    "tokens": 100,
}  # fmt: skip
ADAPTIVE = ROW | {"policy": "adaptive", "gamma": None, "predicted": None}


def results(*rows: dict[str, Any]) -> Validated:
    return parse_validation({"rows": list(rows)}, name="a.json")


@pytest.mark.parametrize(
    ("draft", "short"),
    [
        ("ngram:/a/b/m.arpa", "ngram:m.arpa"),
        ("lookup+ngram:m.arpa", "lookup+ngram:m.arpa"),
        ("lookup+ngram:a/m.arpa", "lookup+ngram:m.arpa"),
        ("ngram:C:\\a\\m.arpa", "ngram:C:m.arpa"),
        ("/a/model/", "model/"),
        ("embedded", "embedded"),
    ],
)
def test_drawings_name_files_without_their_folders(draft: str, short: str) -> None:
    assert short_name(draft) == short


def test_every_draft_has_a_colour_and_the_worst_point_its_name() -> None:
    drafts = [f"ngram:/a/b/{i}.arpa" for i in range(8)]
    rows = [ROW | {"draft": draft, "measured": 1.5 + i / 9} for i, draft in enumerate(drafts)]
    data = predicted_measured.compute(results(*rows))
    assert list(data["draft"]) == drafts
    (axes,) = FIGURES["predicted-measured"].draw(data).axes
    legend = axes.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["5 % band", *(f"ngram:{i}.arpa" for i in range(8)), "temperature 0"]
    *lines, _ = legend.get_lines()
    assert len({str(line.get_color()) for line in lines}) == 8
    (label,) = (text for text in axes.texts if text.get_text())
    assert label.get_text() == "worst: ngram:7.arpa, γ = 4\ntemperature 0: -33 %"


def test_points_lie_in_or_out_of_the_band() -> None:
    data = predicted_measured.compute(results(ROW, ROW | {"measured": 1.4}))
    assert list(map(predicted_measured.within_band, data)) == [True, False]
    assert data["setting"][0] == "embedded, γ = 4"
    assert data.caption == "a.json"


def test_a_policy_without_prediction_is_left_out() -> None:
    assert len(predicted_measured.compute(results(ROW, ADAPTIVE))) == 1
    with pytest.raises(ValueError, match=r"a.json has no row with a prediction"):
        predicted_measured.compute(results(ADAPTIVE))


def test_without_results_the_published_table_is_drawn() -> None:
    data = predicted_measured.compute()
    assert data.caption is None
    assert len(data) == 12
    assert sum(map(predicted_measured.within_band, data)) == 1


def test_our_acceptance_rates_join_the_published_ones() -> None:
    other = ROW | {"draft": "lookup", "alpha": 0.2}
    longer = ROW | {"gamma": 8}  # the same pair at the same temperature: one α
    data = tables.compute_alphas(results(ROW, longer, other, ROW | {"alpha": None}))
    ours = data.where(source="measured")
    assert [(row.draft, row.alpha) for row in ours] == [("embedded", 0.72), ("lookup", 0.2)]


def test_a_validation_is_drawn_into_a_file(tmp_path: Path) -> None:
    path, entry = tmp_path / "figure.svg", FIGURES["predicted-measured"]
    figure = entry.draw(entry.compute(results(ROW, ADAPTIVE)))
    save_image(figure, path)
    assert path.read_bytes().startswith(b"<?xml")
    with pytest.raises(ValueError, match=r"must end in .png or .svg or .pdf, got figure.tex"):
        save_image(figure, tmp_path / "figure.tex")
