"""Words of pages with their meanings, as docs/glossary.md gives them: only those on the page."""

import csv
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

# By word: its pattern on pages, and the beginning of its meaning in the glossary.
_LINES = (Path(__file__).parent / "words.csv").read_text(encoding="utf-8").splitlines()
MEANINGS = {word: (pattern, meaning) for word, pattern, meaning in csv.reader(_LINES[1:])}


def words_in(section: Any) -> list[tuple[str, str]]:
    """Returns the words that a section shows, each with its meaning, in the glossary's order."""
    sliders = (section.explorer or {}).get("axes", ())
    text = "\n".join([*_texts(section), *(axis["label"] for axis in sliders)])
    return [
        (word, meaning)
        for word, (pattern, meaning) in MEANINGS.items()
        if re.search(rf"(?<![-\w.])(?:{pattern})(?![-\w])", text, re.IGNORECASE * (len(word) > 1))
    ]


def _texts(part: Any) -> Iterator[str]:
    """Yields the texts of a section and its parts, without flags and commands."""
    if isinstance(part, str):
        yield part
    elif is_dataclass(part):
        for field in fields(part):
            if field.name not in ("flags", "command", "explorer", "key", "mark"):
                yield from _texts(getattr(part, field.name))
    elif isinstance(part, list | tuple):
        for one in part:
            yield from _texts(one)
