"""Reads counts from sources: server URLs, and files that a kind of engine prints."""

import json
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
from reference.files import MOST_BYTES, json_objects, kind_of_text, text_blocks

SCRAPE_SECONDS = 30.0
STDIN = Path("/dev/stdin")
# A log's first line of drafts must lie within so many bytes.
HEAD_BYTES = 1_000_000_000
# Keys of the category of a request, which a user adds to an answer.
CATEGORIES = ("category", "task")
# Keys of files without counts of drafts, and what to do with such a file.
UNCOUNTED = {
    "avg_ns": "llama-bench has times only: plan --costs FILE reads them",
    "is_processing": "llama-server's slots have no counts: its /metrics and answers have them",
    "elapsed_time": "vllm bench throughput counts no drafts: vllm bench serve --save-result does",
}


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
    known = _printing("metrics")
    paths = (
        [parts.path]
        if parts.path.strip("/")
        else dict.fromkeys(printed.page for _, printed in known)
    )
    first, *others = (f"{base}{path}?{parts.query}".rstrip("?") for path in paths)
    rest = (_page(url, timeout_seconds) for url in others)
    for page in chain([get_text(first, timeout_seconds=timeout_seconds)], rest):
        for _, metrics in known:
            if _is_page(page, metrics):
                version = _version(base, metrics.version_page, timeout_seconds)
                return replace(metrics.read(page, gamma), version=version)
    titles = listed([f"{kind.title}'s" for kind, _ in known])
    given = kind_of_text(page) if page.lstrip().startswith("<") else "none of their metrics"
    raise ValueError(f"a metrics page must be {titles}, got {given}")


def _version(base: str, path: str | None, timeout_seconds: float) -> str | None:
    """Returns the version that the server at `base` reports; None if it cannot be read."""
    with suppress(ValueError, AttributeError):  # no JSON object
        if path is not None:
            return text_of(json.loads(_page(base + path, timeout_seconds)), "version")
    return None


def _page(url: str, timeout_seconds: float) -> str:
    """Returns the text of a page that a server need not have; empty if it has none."""
    with suppress(ValueError, OSError):
        return get_text(url, timeout_seconds=timeout_seconds)
    return ""


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
        f"{kind_of_text(text)}"
    )


def _answer(value: dict[str, Any], gamma: int | None) -> Observation:
    """Returns the counts in a JSON object of any engine, with the request's category if stated."""
    known = [printed for _, printed in _printing("JSON")]
    # The mark that lies deepest identifies a file best.
    likeliest = max(known, key=lambda printed: max(_depth(value, mark) for mark in printed.marks))
    if any(_depth(value, mark) for mark in likeliest.marks):
        counted = likeliest.read(value, gamma)
        labels = (text_of(value, key) for key in CATEGORIES)
        label = next((label for label in labels if label is not None), None)
        named = tuple(request._replace(category=label) for request in counted.requests)
        return replace(counted, requests=named)
    got = ", ".join(map(str, [*value][:5])) or "nothing"
    hint = next((f": {hint}" for key, hint in UNCOUNTED.items() if key in value), "")
    programs = listed([f"{printed.marks[0]} ({printed.program})" for printed in known])
    raise ValueError(f"JSON of drafts must have {programs}, got {got}{hint}")


def _depth(value: Any, mark: str) -> int:
    """Returns the number of a mark's keys if the object has them, one within the other; else 0."""
    keys = mark.split(".")
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return 0
        value = value[key]
    return len(keys)


def _printing(form: str) -> list[tuple[EngineKind, PrintedCounts]]:
    kinds = engine_kinds().values()
    return [(kind, printed) for kind in kinds for printed in kind.prints if printed.form == form]


def _is_page(text: str, metrics: PrintedCounts) -> bool:
    return any(f"\n{mark}" in f"\n{text}" or f" {mark}" in text for mark in metrics.marks)
