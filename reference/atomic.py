"""Files that are whole or as they were: written at once, by one process, uninterrupted."""

import os
import re
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

STANDARD_STREAMS = (0, 1, 2)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Gives the name of a file to write, whose content then becomes that of path at once.

    A symbolic link stays, and the file that it leads to is the one replaced. What is no regular
    file (a device, a pipe, the program's own standard output) is never replaced: the content is
    written into it. If the writing fails (a full disk, an interruption), path is as it was and
    nothing is left beside it.

    Raises:
      OSError: if it cannot be written, or a link leads nowhere.
    """
    place = Path(os.path.realpath(path))
    if keeps_its_place(path):
        with tempfile.TemporaryDirectory() as folder:
            partial = Path(folder) / path.name
            yield partial
            with partial.open("rb") as content, path.open("wb") as stream:
                shutil.copyfileobj(content, stream)
        return
    partial = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, place)
    finally:
        partial.unlink(missing_ok=True)


def keeps_its_place(path: Path) -> bool:
    """Returns whether a path leads to something that is written into, never replaced.

    Raises:
      OSError: if links lead in a circle.
    """
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(there.st_mode) or any(
        os.path.samestat(there, stream) for stream in _standard_streams()
    )


def _standard_streams() -> list[os.stat_result]:
    """Returns what the program's standard streams are, of those that are open."""
    found = []
    for number in STANDARD_STREAMS:
        try:
            found.append(os.fstat(number))
        except OSError:
            continue
    return found


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Holds a Ctrl-C back until the work inside is done, and then lets it happen.

    For libraries that turn an interrupt in their midst into an error of their own, as an archive
    does that is closed while a file in it is being written. Only the main thread is interrupted
    by signals; in another one nothing needs to be held back.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    came = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def held(output: Path) -> Iterator[None]:
    """Holds an output: no other process may, and what dead ones left half-written is removed.

    The lock is the kernel's, so that it ends with the process, however that ends; its file, which
    a killed process leaves, is taken over and removed.

    Args:
      output: a file or folder to come, whose folder is there. What is written for it stands
        beside it under names that begin with its own. A link stands for what it leads to.

    Raises:
      OSError: if the folder cannot be written.
      ValueError: if another process holds it.
    """
    from filelock import FileLock, Timeout

    place = Path(os.path.realpath(output))
    file = place.with_name(f".{place.name}.lock")
    lock = FileLock(file, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise ValueError(
            f"output {output} must be written by one process at a time, got it held by another "
            f"({file})"
        ) from None
    try:
        for name in {output, place}:
            _remove_left_behind(name)
        yield
    finally:
        # While it is held: whoever opens the name next makes a new file.
        file.unlink(missing_ok=True)
        lock.release()


def _remove_left_behind(output: Path) -> None:
    """Removes what `whole_file` was writing for an output in processes that are no more."""
    pattern = re.compile(rf"\.{re.escape(output.name)}(\..+)?\.(\d+)\.part")
    for path in output.parent.iterdir():
        found = pattern.fullmatch(path.name)
        if found is not None and not _runs(int(found[2])):
            path.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    """Returns whether another process of this number is there."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
