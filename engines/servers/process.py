"""Runs a server as a child process, and stops it in every case; engines that a command starts.

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
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, ClassVar, NoReturn, Self

from engines.kind import EngineSettings, Models

START_SECONDS = 600.0
LAST_LINES = 12
GRACE_SECONDS = 10.0
ENDING_SECONDS = 2.0
POLL_SECONDS = 0.05
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class CommandPair:
    """A target and a draft model (names or folders) for an engine that a command starts.

    command: command of the server with the user's own flags, for example `vllm serve --dtype
      float32`; the model and the flags of speculation are appended.
    """

    # The engine, and the command if the user states none.
    name: ClassVar[str]
    program: ClassVar[str]

    target: str
    draft: str
    command: tuple[str, ...]

    @classmethod
    def of_models(cls, models: Models, settings: EngineSettings) -> Self:
        stated = cls.program if settings.engine_command is None else settings.engine_command
        try:
            command = tuple(shlex.split(stated))
        except ValueError as error:
            raise ValueError(
                f"engine-command must be a command, got {stated!r}: {error}"
            ) from error
        if not command:
            raise ValueError("engine-command must be a command, got nothing")
        return cls(models.target, models.draft, command)

    @property
    def flags(self) -> tuple[str, ...]:
        return self.command


@contextmanager
def serving(
    command: Sequence[str],
    *,
    name: str,
    start_seconds: float = START_SECONDS,
    environment: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, int]]:
    """Runs a server while the context lasts; yields its URL and process id once it is healthy.

    The flags --host and --port, for a free port, are appended to the command. Refuses a program
    that does not exist, ends, or does not answer in time; the message quotes its last output.

    environment: variables added to this program's own.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command, url = (
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        f"http://127.0.0.1:{port}",
    )
    with tempfile.TemporaryFile("w+b") as log, _terminating():
        process = _start(command, log, name, environment or {})
        try:
            up = _wait(lambda: process.poll() is not None or healthy(url), start_seconds)
            status = process.poll()
            if status is not None or not up:
                late = f" within {start_seconds:.0f} s, got no answer of {url}/health"
                dead = f", got exit status {status} of '{shlex.join(command)}'"
                fault = late if status is None else dead
                raise ValueError(f"{name} must start{fault}; it said last: {_last(log)}")
            yield url, process.pid
        except (OSError, EOFError) as error:
            # The request may have failed because the engine died; then its log has the reason.
            if _wait(lambda: process.poll() is not None, ENDING_SECONDS):
                raise ValueError(
                    f"{name} must keep running, got exit status {process.returncode}: {_last(log)}"
                ) from error
            raise
        finally:
            _stop(process)


def thread_seconds(process: int | None) -> dict[str, float]:
    """Returns the CPU seconds of each thread of a process; empty on systems without /proc."""
    try:
        return {
            task.name: int((task / "schedstat").read_text().split()[0]) / 1e9
            for task in Path(f"/proc/{process}/task").iterdir()
        }
    except OSError:  # also if there is no process, or a thread ends meanwhile
        return {}


def healthy(url: str) -> bool:
    """Returns whether a server's health page answers with status 200."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return int(answer.status) == 200
    except OSError:
        return False


def _start(
    command: Sequence[str], log: IO[bytes], name: str, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    def die_with_parent() -> None:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    try:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )
    except OSError as error:
        raise ValueError(
            f"engine-command of {name} must be a program, got {command[0]}: {error.strerror}"
        ) from error


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not (result := done()) and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
    return result


def _last(log: IO[bytes]) -> str:
    size = os.fstat(log.fileno()).st_size  # the child shares the file's position: do not seek
    text = os.pread(log.fileno(), 16384, max(0, size - 16384)).decode(errors="replace")
    lines = filter(None, map(str.strip, text.splitlines()))
    return " | ".join(list(lines)[-LAST_LINES:]) or "nothing"


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the child's process group, first by SIGTERM; returns when all processes have ended."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if _signalled(process, number):
            _wait(lambda: not _signalled(process, 0), GRACE_SECONDS)
    process.wait()


def _signalled(process: subprocess.Popen[bytes], number: int) -> bool:
    """Sends a signal (0: none) to the child's process group; returns whether it still exists."""
    process.poll()
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS gives the second for ended processes
        return False
    return True


@contextmanager
def _terminating() -> Iterator[None]:
    """While the context lasts, SIGTERM and SIGHUP raise SystemExit, so that servers are stopped."""

    def unwind(number: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    with ExitStack() as restored:
        with suppress(ValueError):  # only the main thread may set signal handlers
            for number in (signal.SIGTERM, signal.SIGHUP):
                restored.callback(signal.signal, number, signal.signal(number, unwind))
        yield
