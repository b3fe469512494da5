"""Sources of counts: a URL, or a file of any of the forms, told by what it holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from urllib.parse import urlsplit

from engines.observing.answers import read_json
from engines.observing.logs import MARK, read_log
from engines.observing.observation import Observation
from engines.observing.pages import kind_of_page, read_page
from engines.serving.http import get_text

SCRAPE_SECONDS = 30.0


def is_live(source: str) -> bool:
    """Returns whether a source is a server's URL."""
    return source.startswith(("http://", "https://"))


def observe(sources: Sequence[str], *, gamma: int | None) -> Observation:
    """Returns what all sources count together.

    Args:
      sources: URLs and files, at least one, of one kind of engine at one γ.
      gamma: where the user says it.

    Raises:
      ValueError, OSError: with the source's name.
    """
    return total(readings(sources, gamma=gamma))


def readings(sources: Sequence[str], *, gamma: int | None) -> tuple[Observation, ...]:
    """Returns what each of these sources counts."""
    return tuple(_read(source, gamma) for source in sources)


def total(observations: Sequence[Observation]) -> Observation:
    """Returns the sum of observations.

    Raises:
      ValueError: if they are of several engines or γ.
    """
    return reduce(add, observations)


def between(
    sources: Sequence[str], earlier: Sequence[Observation], later: Sequence[Observation]
) -> Observation:
    """Returns what all sources counted together from one reading to the next.

    Each is subtracted from its own, since a sum may rise though one of its servers began anew.

    Args:
      sources: whose names errors have.
      earlier, later: readings of each source.

    Raises:
      ValueError: if a server was restarted, or the sources are of several engines or γ.
    """
    differences = []
    for source, before, after in zip(sources, earlier, later, strict=True):
        try:
            differences.append(after.since(before))
        except ValueError as error:
            raise ValueError(f"{source}: {error}") from error
    return total(differences)


def _read(source: str, gamma: int | None) -> Observation:
    try:
        if is_live(source):
            return _scrape(source, gamma)
        return _file(Path(source).read_text(encoding="utf-8", errors="replace"), gamma)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error


def _scrape(source: str, gamma: int | None) -> Observation:
    parts = urlsplit(source)
    base = f"{parts.scheme}://{parts.netloc}"
    url = source if parts.path.strip("/") else f"{base}/metrics"
    found = read_page(get_text(url, timeout_seconds=SCRAPE_SECONDS), gamma=gamma)
    return replace(found, version=_version(base)) if found.kind == "vllm" else found


def _version(base: str) -> str | None:
    """Returns what a vLLM server says of its version; proxies of its metrics say nothing."""
    try:
        answer = json.loads(get_text(f"{base}/version", timeout_seconds=SCRAPE_SECONDS))
    except (ValueError, OSError):
        return None
    version = answer.get("version") if isinstance(answer, dict) else None
    return version if isinstance(version, str) else None


def _file(text: str, gamma: int | None) -> Observation:
    if text.lstrip()[:1] in ("{", "["):
        return read_json(text, gamma=gamma)
    if MARK in text:
        return read_log(text)
    if kind_of_page(text) is not None:
        return read_page(text, gamma=gamma)
    raise ValueError(
        "must be a metrics page of vLLM, llama.cpp or SGLang, a log of vLLM with lines "
        f"'{MARK} …', or JSON of vllm bench serve or llama.cpp, got none of them"
    )
