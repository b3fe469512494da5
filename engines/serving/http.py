"""Requests to a server, and their failures in one line."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

TIMEOUT_SECONDS = 600.0


def get_text(url: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> str:
    """Returns a page.

    Args:
      url: http or https.
      timeout_seconds: how long the server may be silent.

    Raises:
      ValueError: if the server refuses it.
      OSError: if nothing answers.
    """
    return _answer(urllib.request.Request(url), timeout_seconds)


def post_json(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """Returns the JSON object that a server answers to one.

    Raises:
      ValueError: if the server refuses it, with its reason.
      OSError: if nothing answers.
    """
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    answer = json.loads(_answer(request, TIMEOUT_SECONDS))
    if not isinstance(answer, dict):
        raise ValueError(f"{url} must answer with a JSON object, got {type(answer).__name__}")
    return answer


def _answer(request: urllib.request.Request, timeout_seconds: float) -> str:
    if not request.full_url.startswith(("http://", "https://")):
        raise ValueError(f"a server must be an http:// or https:// URL, got {request.full_url}")
    try:
        with urllib.request.urlopen(request, timeout=timeout_seconds) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        reason = error.read().decode(errors="replace")[:500]
        raise ValueError(
            f"{request.full_url} must answer, got status {error.code}: {reason}"
        ) from error
    except urllib.error.URLError as error:
        raise ConnectionError(f"nothing answers at {request.full_url}: {error.reason}") from error
