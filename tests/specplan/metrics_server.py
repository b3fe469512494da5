"""A server whose metrics pages `observe` reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from threading import Thread
from typing import Any


@contextmanager
def server(*pages: str) -> Iterator[str]:
    """Serves metrics pages in turn, the last of them for ever, and a version; gives the URL."""
    waiting = chain(pages, repeat(pages[-1]))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = {"/metrics": lambda: next(waiting), "/version": lambda: '{"version": "0.32.0"}'}
            found = known.get(self.path)
            self.send_response(404 if found is None else 200)
            self.end_headers()
            self.wfile.write(b"" if found is None else found().encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        http.server_close()
