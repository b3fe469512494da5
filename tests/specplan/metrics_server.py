"""A server whose metrics pages `observe` reads."""

from contextlib import AbstractContextManager
from itertools import chain, repeat

from tests.engines.web_server import web_server


def server(*pages: str) -> AbstractContextManager[str]:
    """Serves metrics pages in turn, the last of them for ever, and a version; gives the URL."""
    waiting = chain(pages, repeat(pages[-1]))
    known = {"/metrics": lambda: next(waiting), "/version": '{"version": "0.32.0"}'}
    return web_server(known, lambda *_: (404, ""))
