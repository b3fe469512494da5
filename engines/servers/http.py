"""HTTP requests with a limit on total time and size, and one-line errors."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from estimator.writing import limited

# Time limit of an answer to a prompt.
TIMEOUT_SECONDS = 600.0


def get_text(url: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> str:
    """Returns the text of a page; timeout_seconds limits the time until all of it has arrived."""
    return _text(urllib.request.Request(url), timeout_seconds)


def post_json(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """Returns the JSON object with which a server answers a JSON object."""
    answer = json.loads(_text(_posted(url, body), TIMEOUT_SECONDS))
    if not isinstance(answer, dict):
        raise ValueError(f"{url} must answer with a JSON object, got {type(answer).__name__}")
    return answer


def stream_json(url: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the JSON objects that a server sends as events, each when it arrives."""
    with _opened(_posted(url, body), TIMEOUT_SECONDS) as answer:
        for line in answer:
            _, _, event = line.decode(errors="replace").strip().partition("data:")
            if event.strip() not in ("", "[DONE]"):
                yield json.loads(event)


def _posted(url: str, body: dict[str, Any]) -> urllib.request.Request:
    kind = {"Content-Type": "application/json"}
    return urllib.request.Request(url, json.dumps(body).encode(), kind)


def _text(request: urllib.request.Request, seconds: float) -> str:
    name, found = request.full_url, Future[str]()
    if not name.startswith(("http://", "https://")):
        raise ValueError(f"a server must be an http:// or https:// URL, got {name}")

    def read() -> None:
        try:
            with _opened(request, seconds) as answer:
                text = limited(answer.read, f"the answer of {name}").decode(errors="replace")
            found.set_result(text)
        except Exception as error:
            found.set_exception(error)

    # Each byte restarts the socket's own timeout, so a thread limits the total time.
    threading.Thread(target=read, daemon=True).start()
    try:
        return found.result(seconds)
    except TimeoutError:
        message = f"the answer of {name} must end within {seconds:g} seconds, got no end"
        raise TimeoutError(message) from None


@contextmanager
def _opened(request: urllib.request.Request, seconds: float) -> Iterator[Any]:
    name = request.full_url
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            yield answer
    except urllib.error.HTTPError as error:
        reason = error.read(500).decode(errors="replace")
        raise ValueError(f"{name} must answer, got status {error.code}: {reason}") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise error.reason from None
        raise ConnectionError(f"no server answers at {name}: {error.reason}") from error
