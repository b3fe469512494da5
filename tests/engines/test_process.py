"""Servers as child processes: awaited, reported when they die, and always stopped."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import psutil
import pytest

from engines.servers.process import serving, thread_seconds

SERVER = """\
import http.server, os, pathlib, sys
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/die":
            print("out of memory", flush=True)
            os._exit(3)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[-1])), Handler).serve_forever()
"""
DYING = "import sys; print('loading'); print('no room for the cache'); sys.exit(7)"
SILENT = "import time; print('still loading', flush=True); time.sleep(60)"


def lives(process: int) -> bool:
    """Returns whether a process runs; one that has ended and waits to be read does not."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def served(folder: Path, first: str = "") -> Iterator[tuple[str, int]]:
    """Serves while the context lasts, and gives URL and process; first: what the server does."""
    noted = folder / "process"
    command = [sys.executable, "-S", "-c", first + SERVER, str(noted)]
    with serving(command, name="engine", start_seconds=30) as (url, process):
        assert process == int(noted.read_text())
        yield url, process


def test_elsewhere_than_on_linux_a_server_runs_without_linux_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engines.servers.process.sys.platform", "darwin")
    monkeypatch.setattr("engines.servers.process.ctypes.CDLL", lambda _: pytest.fail("prctl"))
    with served(tmp_path) as (_, process):
        assert lives(process)
    assert not lives(process)


def test_a_group_that_cannot_be_signalled_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS, whose killpg gives EPERM where all processes of a group have ended."""
    killed = os.killpg

    def killpg(group: int, number: int) -> None:
        try:
            killed(group, number)
        except ProcessLookupError as error:
            raise PermissionError(*error.args) from error

    monkeypatch.setattr("engines.servers.process.os.killpg", killpg)
    with served(tmp_path) as (_, process):
        assert lives(process)
    assert not lives(process)


def test_a_server_is_gone_when_its_context_ends(tmp_path: Path) -> None:
    with served(tmp_path) as (_, process):
        assert lives(process)
    assert not lives(process)
    with pytest.raises(ZeroDivisionError), served(tmp_path) as (_, process):
        raise ZeroDivisionError
    assert not lives(process)


def test_a_server_that_ignores_sigterm_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engines.servers.process.GRACE_SECONDS", 0.1)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    with served(tmp_path, deaf) as (_, process):
        rescue = Timer(30, os.kill, (process, signal.SIGKILL))
        rescue.start()
    assert rescue.is_alive()
    rescue.cancel()
    assert not lives(process)


@pytest.mark.parametrize(
    ("program", "seconds", "message"),
    [
        (DYING, 30, r"engine must start, got exit status 7 of .*it said last: loading \| no room"),
        (SILENT, 1, r"engine must start within 1 s, .*still loading$"),
    ],
)
def test_a_server_that_does_not_start_says_why(program: str, seconds: float, message: str) -> None:
    command = [sys.executable, "-S", "-c", program]
    with (
        pytest.raises(ValueError, match=message),
        serving(command, name="engine", start_seconds=seconds),
    ):
        raise AssertionError("never healthy")


def test_a_server_that_dies_at_work_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match=r"must keep running, got exit status 3: out of memory"),
        served(tmp_path) as (url, _),
    ):
        urllib.request.urlopen(f"{url}/die", timeout=10)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_started_process_ends_with_its_starter(number: int, tmp_path: Path) -> None:
    noted = tmp_path / "process"
    program = (
        "import time\n"
        "from engines.servers.process import serving\n"
        f"command = [{sys.executable!r}, '-S', '-c', {SERVER!r}, {str(noted)!r}]\n"
        "with serving(command, name='e', start_seconds=30):\n"
        "    print('up', flush=True)\n"
        "    time.sleep(60)\n"
    )
    root = Path(__file__).parents[2]
    starter = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert starter.stdout is not None
    assert starter.stdout.readline() == b"up\n"
    process = int(noted.read_text())
    assert lives(process)
    starter.send_signal(number)
    starter.wait(timeout=30)
    starter.stdout.close()
    for _ in range(100):
        if not lives(process):
            break
        time.sleep(0.05)
    assert not lives(process)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports each thread's time")
def test_a_thread_counts_while_it_computes_and_not_while_it_waits() -> None:
    here = os.getpid()

    def computed(work: Callable[[], object]) -> float:
        before = thread_seconds(here)
        work()
        return max(time - before.get(name, 0.0) for name, time in thread_seconds(here).items())

    assert computed(lambda: time.sleep(0.1)) < computed(lambda: sum(range(3_000_000)))
    assert thread_seconds(None) == {}
