"""An answer over the network is limited in time and size as a whole."""

import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from engines.servers.http import get_text, stream_json
from engines.sources import observe

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"


@contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Gives the URL of a server that answers every request so, and never ends by itself."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            with suppress(OSError):
                answer(self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads, listening.block_on_close = True, False
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()


def endless(connection: socket.socket) -> None:
    connection.sendall(HEAD)
    while True:
        connection.sendall(b"x" * (1 << 20))


def slow_page(connection: socket.socket) -> None:
    connection.sendall(HEAD)
    slow(connection)


def slow(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"x")
        time.sleep(0.05)


def whole(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"page \xff")


def test_an_answer_that_never_ends_is_refused() -> None:
    with server(endless) as url, pytest.raises(ValueError, match=r"/metrics must have at most 64"):
        observe([url], gamma=None)


@pytest.mark.parametrize("answer", [slow_page, slow])
def test_an_answer_of_a_byte_at_a_time_is_refused(answer: Callable[..., None]) -> None:
    message = "must end within 0.3 seconds, got no end"
    with server(answer) as url, pytest.raises(TimeoutError, match=message):
        get_text(url, timeout_seconds=0.3)


def test_an_answer_that_ends_is_read_and_its_absence_named() -> None:
    with server(whole) as url:
        assert get_text(url) == "page \N{REPLACEMENT CHARACTER}"
    with pytest.raises(ConnectionError, match=f"no server answers at {url}"):
        get_text(url)


def test_an_error_among_the_events_of_a_stream_is_refused() -> None:
    def fails(connection: socket.socket) -> None:
        connection.sendall(HEAD + b'data: {"ids": [1]}\n\ndata: {"error": "no room"}\n\n')

    with server(fails) as url:
        events = stream_json(url, {}, engine="vllm")
        assert next(events) == {"ids": [1]}
        with pytest.raises(ValueError, match="vllm must take the request, got: no room"):
            next(events)
