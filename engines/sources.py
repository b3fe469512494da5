"""Reads counts from sources: server URLs, and files that a kind of engine prints."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from engines.kind import EngineKind, PrintedCounts, engine_kinds, listed
from engines.observing.observation import Observation
from engines.observing.printed import text_of
from engines.servers.http import get_text
from reference.files import MOST_BYTES, json_objects, text_blocks

SCRAPE_SECONDS = 30.0
STDIN = Path("/dev/stdin")
# A log's first line of drafts must lie within so many bytes.
HEAD_BYTES = 1_000_000_000
# A text that no reader knows is described from so many characters.
HEAD_CHARACTERS = 2000
# Keys of the category of a request, which a user adds to an answer.
CATEGORIES = ("category", "task")


def is_live(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def observe(
    sources: Sequence[str], *, gamma: int | None, timeout_seconds: float = SCRAPE_SECONDS
) -> Observation:
    """Returns the counts and times of all sources, summed.

    sources: at least one URL or file ("-": stdin), all of the same kind of engine and γ.
    gamma: γ as the user states it; None: not stated.
    timeout_seconds: time limit for a server's complete answer.
    """
    return total(readings(sources, gamma=gamma, timeout_seconds=timeout_seconds))


def readings(
    sources: Sequence[str], *, gamma: int | None, timeout_seconds: float = SCRAPE_SECONDS
) -> tuple[Observation, ...]:
    return tuple(_read(source, gamma, timeout_seconds) for source in sources)


def total(observations: Sequence[Observation]) -> Observation:
    return reduce(add, observations)


def between(
    sources: Sequence[str], earlier: Sequence[Observation], later: Sequence[Observation]
) -> Observation:
    """Returns the counts between an earlier and a later reading of each source, summed.

    Sources are subtracted one by one, because a sum may rise although one server restarted.

    Raises ValueError if a server restarted, or if sources have different engines or γ.
    """
    differences = []
    for source, before, after in zip(sources, earlier, later, strict=True):
        try:
            differences.append(after.since(before))
        except ValueError as error:
            raise ValueError(f"{source}: {error}") from error
    return total(differences)


def _read(source: str, gamma: int | None, timeout_seconds: float) -> Observation:
    try:
        if is_live(source):
            return _scrape(source, gamma, timeout_seconds)
        return _file(text_blocks(STDIN if source == "-" else Path(source)), gamma)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error


def _scrape(source: str, gamma: int | None, timeout_seconds: float) -> Observation:
    parts = urlsplit(source)
    base = f"{parts.scheme}://{parts.netloc}"
    url = source if parts.path.strip("/") else f"{base}/metrics"
    page = get_text(url, timeout_seconds=timeout_seconds)
    for _, metrics in _printing("metrics"):
        if _is_page(page, metrics):
            version = _version(base, metrics.version_page, timeout_seconds)
            return replace(metrics.read(page, gamma), version=version)
    titles = listed([f"{kind.title}'s" for kind, _ in _printing("metrics")])
    raise ValueError(f"a metrics page must be {titles}, got none of their metrics")


def _version(base: str, path: str | None, timeout_seconds: float) -> str | None:
    """Returns the version that the server at `base` reports; None if it cannot be read."""
    with suppress(ValueError, OSError, AttributeError):  # no page, or no JSON object
        if path is not None:
            page = get_text(base + path, timeout_seconds=timeout_seconds)
            return text_of(json.loads(page), "version")
    return None


def _file(blocks: Iterator[str], gamma: int | None) -> Observation:
    # Logs first: their lines may begin with a process in brackets, as JSON does.
    head: list[str] = []
    size = 0
    for block in blocks:
        for _, log in _printing("log"):
            if any(mark in block for mark in log.marks):
                return log.read(chain(head, [block], blocks), gamma)
        size += len(block)
        if size > HEAD_BYTES:
            break
        if size <= MOST_BYTES:
            head.append(block)
        else:  # only a log may be so long; its first lines state the version
            del head[1:]
    if size > MOST_BYTES:
        raise ValueError(
            f"a file of more than {MOST_BYTES / 1e6:g} MB must be a log whose first "
            f"{HEAD_BYTES / 1e6:g} MB have a line of drafts, got none"
        )
    text = "".join(head)
    if not text.strip():
        raise ValueError("is empty")
    if text.lstrip()[:1] in ("{", "["):
        return total([_answer(value, gamma) for value in json_objects(text, "JSON of drafts")])
    for _, metrics in _printing("metrics"):
        if _is_page(text, metrics):
            return metrics.read(text, gamma)
    pages = listed([kind.title for kind, _ in _printing("metrics")])
    logs = listed([f"{kind.title} with lines '{log.marks[0]} …'" for kind, log in _printing("log")])
    programs = listed([answers.program for _, answers in _printing("JSON")])
    raise ValueError(
        f"must be a metrics page of {pages}, a log of {logs}, or JSON of {programs}, got "
        f"{_what(text)}"
    )


def _what(text: str) -> str:
    """Returns what a text is that no reader knows: an HTML page, binary, or its first line."""
    if any(each in text[:HEAD_CHARACTERS] for each in "\0\ufffd"):
        return "a binary file"
    if text.lstrip().startswith("<"):
        title = " ".join(re.sub(r"<[^>]*>", " ", text[:HEAD_CHARACTERS]).split())
        return f"an HTML page, {title[:60]!r}"
    return f"a text that begins {text.lstrip().partition(chr(10))[0][:60]!r}"


def _answer(value: dict[str, Any], gamma: int | None) -> Observation:
    """Returns the counts in a JSON object of any engine, with the request's category if stated."""
    for _, answers in _printing("JSON"):
        if any(mark in value for mark in answers.marks):
            counted = answers.read(value, gamma)
            labels = (text_of(value, key) for key in CATEGORIES)
            label = next((label for label in labels if label is not None), None)
            named = tuple(each._replace(category=label) for each in counted.requests)
            return replace(counted, requests=named)
    known = listed([f"{each.marks[0]} ({each.program})" for _, each in _printing("JSON")])
    got = ", ".join(map(str, [*value][:5])) or "nothing"
    raise ValueError(f"JSON of drafts must have {known}, got {got}")


def _printing(form: str) -> list[tuple[EngineKind, PrintedCounts]]:
    kinds = engine_kinds().values()
    return [(kind, each) for kind in kinds for each in kind.prints if each.form == form]


def _is_page(text: str, metrics: PrintedCounts) -> bool:
    return any(f"\n{mark}:" in f"\n{text}" or f" {mark}:" in text for mark in metrics.marks)
