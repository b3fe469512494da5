"""HTTP requests with a limit on total time and size, and one-line errors."""

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from engines.engine import Completion
from reference.files import limited

# Time limit of an answer to a prompt.
TIMEOUT_SECONDS = 600.0


def get_text(url: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> str:
    """Returns the text of a page; timeout_seconds limits the time until all of it has arrived."""
    return _text(url, timeout_seconds)


def post_json(url: str, body: dict[str, Any], *, engine: str | None = None) -> dict[str, Any]:
    """Posts a JSON object; returns the server's answer, a JSON object.

    engine: name of the server for the error if it refuses the request; None: the URL is shown.
    """
    answer = json.loads(_text(url, TIMEOUT_SECONDS, body, engine))
    if not isinstance(answer, dict):
        raise ValueError(f"{url} must answer with a JSON object, got {type(answer).__name__}")
    return answer


def stream_json(url: str, body: dict[str, Any], *, engine: str) -> Iterator[dict[str, Any]]:
    """Yields the JSON objects that an engine sends as events; refuses an event with an error."""
    with _opened(url, TIMEOUT_SECONDS, body, engine) as answer:
        for line in answer:
            _, _, event = line.decode(errors="replace").strip().partition("data:")
            if event.strip() not in ("", "[DONE]"):
                sent = json.loads(event)
                if "error" in sent:
                    raise ValueError(f"{engine} must take the request, got: {sent['error']}")
                yield sent


def streamed(engine: str, parts: Iterable[Sequence[int]], tokens: int, room: str) -> Completion:
    """Returns the text that an engine streams, with its times; refuses another number of ids.

    parts: new ids of each event. tokens: required number of ids.
    room: the server's flag that limits the length of texts, for the error.
    """
    text: list[int] = []
    first, began, ended = 0, 0.0, 0.0
    for ids in filter(None, parts):
        ended = time.perf_counter()
        if not text:
            first, began = len(ids), ended
        text += ids
    if len(text) != tokens:
        raise ValueError(
            f"{engine} must write {tokens} tokens, got {len(text)}: its {room} leaves no room"
        )
    return Completion(tuple(text), first, ended - began)


def _text(
    url: str, seconds: float, body: dict[str, Any] | None = None, engine: str | None = None
) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"a server must be an http:// or https:// URL, got {url}")
    future = Future[str]()

    def read() -> None:
        try:
            with _opened(url, seconds, body, engine) as answer:
                text = limited(answer.read, f"the answer of {url}").decode(errors="replace")
            future.set_result(text)
        except Exception as error:
            future.set_exception(error)

    # Each byte restarts the socket's own timeout, so a thread limits the total time.
    threading.Thread(target=read, daemon=True).start()
    try:
        return future.result(seconds)
    except TimeoutError:
        message = f"the answer of {url} must end within {seconds:g} seconds, got no end"
        raise TimeoutError(message) from None


@contextmanager
def _opened(
    url: str, seconds: float, body: dict[str, Any] | None, engine: str | None
) -> Iterator[Any]:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            yield answer
    except urllib.error.HTTPError as error:
        reason = f"status {error.code}: {error.read(500).decode(errors='replace')}"
        if engine is None:
            raise ValueError(f"{url} must answer, got {reason}") from error
        raise ValueError(f"{engine} must take the request, got: {reason}") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise error.reason from None
        raise ConnectionError(f"no server answers at {url}: {error.reason}") from error
