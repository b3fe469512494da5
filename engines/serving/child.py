"""Runs a server as a child process, and stops it in every case.

The child leads its own process group, so its workers end with it. It is stopped when the context
exits, also by an exception, Ctrl-C, SIGTERM or SIGHUP. If this program is killed, the kernel stops
the child (Linux: PR_SET_PDEATHSIG).
"""

import ctypes
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

LAST_LINES = 12
GRACE_SECONDS = 10.0
ENDING_SECONDS = 2.0
POLL_SECONDS = 0.2
PR_SET_PDEATHSIG = 1


@contextmanager
def serving(
    command: Sequence[str],
    *,
    url: str,
    name: str,
    start_seconds: float,
    environment: Mapping[str, str] | None = None,
) -> Iterator[int]:
    """Runs a server while the context lasts; yields its process id once its health page answers.

    Args:
      command: program and arguments.
      url: URL of the server, whose page `/health` is read.
      name: name of the engine, for messages.
      start_seconds: time limit for the start.
      environment: variables added to this program's own.

    Raises ValueError if the program does not exist, ends, or is not healthy in time; with its last
    lines of output.
    """
    with tempfile.TemporaryFile("w+b") as log, _terminating():
        process = _start(command, log, name, environment)
        try:
            if not _up(process, url, start_seconds):
                status = process.poll()
                late = f" within {start_seconds:.0f} s, got no answer of {url}/health"
                dead = f", got exit status {status} of '{shlex.join(command)}'"
                fault = late if status is None else dead
                raise ValueError(f"{name} must start{fault}; it said last: {_last(log)}")
            yield process.pid
        except (OSError, EOFError) as error:
            # The request may have failed because the engine died; then its log has the reason.
            if _ended(process):
                raise ValueError(
                    f"{name} must keep running, got exit status {process.returncode}: {_last(log)}"
                ) from error
            raise
        finally:
            _stop(process)


def thread_seconds(process: int | None) -> dict[str, float]:
    """Returns the CPU seconds of each thread of a process; empty on systems without /proc."""
    tasks = Path(f"/proc/{process}/task")
    try:
        return {
            task.name: int((task / "schedstat").read_text().split()[0]) / 1e9
            for task in tasks.iterdir()
        }
    except OSError:  # also if there is no process, or a thread ends meanwhile
        return {}


def free_port() -> int:
    """Returns a port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def healthy(url: str) -> bool:
    """Returns whether a server's health page answers with status 200."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return int(answer.status) == 200
    except (urllib.error.URLError, OSError):
        return False


def _start(
    command: Sequence[str], log: IO[bytes], name: str, environment: Mapping[str, str] | None
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **({} if environment is None else environment)},
            start_new_session=True,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )
    except OSError as error:
        raise ValueError(
            f"engine-command of {name} must be a program, got {command[0]}: {error.strerror}"
        ) from error


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _up(process: subprocess.Popen[bytes], url: str, seconds: float) -> bool:
    """Returns whether a server becomes healthy in time, without ending."""
    end = time.monotonic() + seconds
    while not healthy(url):
        if process.poll() is not None or time.monotonic() > end:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Returns whether a process ends in a moment; its connections close before it does."""
    try:
        process.wait(timeout=ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _last(log: IO[bytes]) -> str:
    """Returns the last lines of a log, joined."""
    descriptor = log.fileno()
    size = os.fstat(descriptor).st_size
    text = os.pread(descriptor, 16384, max(0, size - 16384)).decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-LAST_LINES:]) if lines else "nothing"


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the child's whole group, first by SIGTERM; returns when all its processes have ended."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        end = time.monotonic() + GRACE_SECONDS
        while _group_lives(process) and time.monotonic() < end:
            time.sleep(POLL_SECONDS / 4)
    process.wait()


def _group_lives(process: subprocess.Popen[bytes]) -> bool:
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def _terminating() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP unwind the stack like Ctrl-C while the context lasts."""

    def unwind(number: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    try:
        before = {n: signal.signal(n, unwind) for n in (signal.SIGTERM, signal.SIGHUP)}
    except ValueError:  # only the main thread may set signal handlers
        before = {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
