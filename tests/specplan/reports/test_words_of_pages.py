"""A page explains the words that it shows, with the meaning that the glossary gives."""

import re
from pathlib import Path
from typing import Any

import pytest

from specplan.reports.page.pictures import Chart, Section, Table, in_words, series
from specplan.reports.page.shown import section_of
from specplan.reports.page.words import MEANINGS
from tests.specplan.reports.test_page_words import SERVED, answered

GLOSSARY = (Path(__file__).parents[3] / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in GLOSSARY.splitlines() if line.count("|") > 3]


@pytest.mark.parametrize("word", MEANINGS)
def test_each_word_has_the_meaning_of_the_glossary(word: str) -> None:
    parts = set(word.lower().split(", "))
    names = [row for row in ROWS if parts <= {*re.split(", | – ", " – ".join(row[:3]).lower())}]
    meanings = [re.sub("γ", "K", row[-1]) for row in names]
    assert [meaning for meaning in meanings if meaning.startswith(MEANINGS[word][1])], meanings


def shown(**parts: Any) -> set[str]:
    section = Section(**{"kind": "Plan", "about": "", "headline": "", **parts})
    return {word for word, _ in section.words}


def test_paths_in_the_current_folder_are_shown_relative_to_it() -> None:
    here = f"{Path.cwd()}/models/draft"
    section = in_words(
        Section(
            kind="Plan", about="", headline="", flags={"vllm": f"--draft {here}"},
            inputs=[("draft", here)], command=f"specplan --draft {here}",
        )
    )  # fmt: skip
    assert section.flags == {"vllm": "--draft models/draft"}
    assert (section.inputs, section.command) == (
        [("draft", "models/draft")], "specplan --draft models/draft",
    )  # fmt: skip


def test_only_words_on_the_page_are_explained() -> None:
    assert shown(headline="Draft 4 tokens per block (K = 4).") == {"K", "block", "draft"}
    assert shown(inputs=[("c of operations", "0.1")]) == {"c of operations"}
    assert shown(inputs=[("c", "0.1")]) == {"c"}
    assert shown(tables=[Table("Simulated", ["tpot ms p99"], [])]) == {"TPOT", "p50, p95, p99"}
    chart = Chart("ttft", "Time to the first token", "", "rate", "ms", series("α", 0, [(1, 1)]))
    assert shown(charts=[chart]) == {"TTFT", "α"}
    flags = {"llama.cpp": "# K = 4\n--spec-type draft"}
    assert shown(flags=flags, command="specplan plan --alpha 0.7") == set()


def test_fine_print_is_about_the_answer_and_columns_are_explained_where_they_are() -> None:
    answer = answered(f"{SERVED} --slo tpot=60")
    section = section_of(answer)
    assert not [note for note in section.notes if "Risk of overload" in note]
    text = " ".join([section.headline, *(" ".join(table.columns) for table in section.tables)])
    assert ("risk of overload" in text.lower()) == ("risk of overload" in dict(section.words))
    assert "capacity" in dict(section.words)
