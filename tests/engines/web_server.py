"""A web server of a few pages, in a thread."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

# A page's text, or a function that returns it for each request.
Page = str | Callable[[], str]
# From a page and the JSON that was posted there to a status and a text.
Answer = Callable[[str, dict[str, Any]], tuple[int, str]]


@contextmanager
def web_server(pages: Mapping[str, Page], answer: Answer) -> Iterator[str]:
    """Serves pages and answers what is posted; yields the server's URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path, "{}")
            text = page if isinstance(page, str) else page()
            self.reply(200 if self.path in pages else 404, text)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.reply(*answer(self.path, json.loads(body)))

        def reply(self, status: int, text: str) -> None:
            content, streams = text.encode(), text.startswith("data:")
            self.send_response(status)
            kind = "text/event-stream" if streams else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        http.server_close()
