"""Writes files completely or not at all, one process at a time; refuses to read endless files."""

import gzip
import io
import json
import os
import re
import shutil
import signal
import stat
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a temporary file, which then replaces the file at `path`.

    If `path` is a symbolic link, the file that it points to is replaced. A device, a pipe or the
    program's standard output is not replaced; the content is written into it. If writing fails (a
    full disk, an interruption), `path` is unchanged and no other file is left.
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
    except OSError as error:
        if error.filename == str(partial):
            error.filename = str(path)  # as the user named it
        raise
    finally:
        partial.unlink(missing_ok=True)


def keeps_its_place(path: Path) -> bool:
    """Returns whether `whole_file` writes into a path and does not replace it (device, pipe)."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    for stream in (0, 1, 2):  # the program's standard streams
        with suppress(OSError):  # of a stream that is closed
            if os.path.samestat(there, os.fstat(stream)):
                return True
    return not stat.S_ISREG(there.st_mode)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays a Ctrl-C until the work inside the block is done.

    Some libraries turn an interrupt into an error of their own, e.g. while they write an archive.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def held(output: Path) -> Iterator[None]:
    """Locks an output for this process; removes half-written files of processes that have ended.

    The kernel releases the lock when the process ends. If a process is killed, its lock file stays
    until the next process removes it. Refuses an output that another process has locked.

    output: a new file or folder in an existing folder; a symbolic link's target is locked.
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
        _remove_left_behind(output)
        _remove_left_behind(place)
        yield
    finally:
        # Removed while the lock is held: a process that opens the name next makes a new file.
        file.unlink(missing_ok=True)
        lock.release()


def _remove_left_behind(output: Path) -> None:
    """Removes temporary files that `whole_file` made for an output in processes that have ended."""
    from psutil import pid_exists

    pattern = re.compile(rf"\.{re.escape(output.name)}(\..+)?\.(\d+)\.part")
    for path in output.parent.iterdir():
        match = pattern.fullmatch(path.name)
        if match is not None and (int(match[2]) == os.getpid() or not pid_exists(int(match[2]))):
            path.unlink(missing_ok=True)


# The largest JSON file, configuration, page or line of a log.
MOST_BYTES = 64_000_000
BLOCK_BYTES = 1 << 20
# An unknown text is described from so many characters.
HEAD_CHARACTERS = 2000


def read_whole(path: Path, *, most_bytes: int = MOST_BYTES) -> bytes:
    """Returns the content of a file, a device or a pipe; refuses more than most_bytes."""
    with path.open("rb") as file:
        return limited(file.read, str(path), most_bytes=most_bytes)


def limited(read: Callable[[int], bytes], name: str, *, most_bytes: int = MOST_BYTES) -> bytes:
    """Calls `read` once and returns its bytes; ValueError if there are more than most_bytes.

    read: a function like a file's `read`, whose argument is the largest number of bytes to return.
    """
    content = read(most_bytes + 1)
    if len(content) > most_bytes:
        raise ValueError(f"{name} must have at most {most_bytes / 1e6:g} MB, got more")
    return content


def read_json(path: Path, decode: Callable[[bytes], Any] = json.loads) -> Any:
    """Returns the content of a JSON file of at most MOST_BYTES; ValueError if it is not JSON."""
    content = read_whole(path)
    if not content.strip():
        raise ValueError(f"{path} is empty: it must be JSON")
    try:
        return decode(content)
    except RecursionError:
        raise ValueError(f"{path} must be JSON, got lists or objects nested too deep") from None
    except ValueError as error:
        if content.startswith(b"\x1f\x8b"):
            raise ValueError(f"{path} must be JSON, got a gzip file: unpack it first") from None
        fault = _json_fault(content.decode("utf-8", "replace"), error)
        raise ValueError(f"{path} must be JSON, got {fault}") from None


def json_objects(text: str, name: str) -> list[dict[str, Any]]:
    """Returns a text's JSON objects: a single object, a list of objects, or one object per line."""
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError:
        try:
            parsed = [json.loads(line) for line in text.split("\n") if line.strip()]
        except json.JSONDecodeError as error:
            fault = _json_fault(text, error)
            raise ValueError(f"{name} must be JSON or a JSON object a line, got {fault}") from None
    objects = parsed if isinstance(parsed, list) else [parsed]
    if not objects:
        raise ValueError(f"{name} must hold at least one JSON object, got none")
    for value in objects:
        if not isinstance(value, dict):
            raise ValueError(f"{name} must be JSON objects, got {type(value).__name__}")
    return objects


def _json_fault(text: str, error: ValueError) -> str:
    """Returns what a text is that a parser of JSON refused with an error."""
    bare = text.strip()
    if bare[:1] not in ("{", "[", '"'):
        return kind_of_text(text)
    ends = bare[-1:] in ("}", "]")
    return f"faulty JSON: {error}" if ends else f"JSON that ends too early: {error}"


def kind_of_text(text: str) -> str:
    """Returns what a text is that no reader knows: an HTML page, binary, or its first line."""
    head = text.lstrip()[:HEAD_CHARACTERS]
    if any(sign in head for sign in "\0\ufffd"):
        return "a binary file"
    if head.startswith("<"):
        title = " ".join(re.sub(r"<[^>]*>", " ", head).split())
        return f"an HTML page, {title[:60]!r}"
    return f"a text that begins {head.partition(chr(10))[0][:60]!r}"


def text_blocks(path: Path) -> Iterator[str]:
    """Yields a file in blocks of whole lines, about BLOCK_BYTES each; unpacks gzip.

    Bytes that are not UTF-8 become replacement characters. The last block may lack a newline.
    Refuses damaged gzip, and lines longer than MOST_BYTES.
    """
    with path.open("rb") as file:
        packed = file.peek(2).startswith(b"\x1f\x8b")
        source: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=file) if packed else file
        try:
            while block := source.read(BLOCK_BYTES):
                if not block.endswith(b"\n"):
                    block += limited(source.readline, f"a line of {path}")
                yield block.decode("utf-8", errors="replace")
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{path} must be whole gzip, got: {error}") from None


def text_lines(path: Path) -> Iterator[str]:
    """Yields the lines of a file, with their newlines; see `text_blocks`."""
    for block in text_blocks(path):
        yield from io.StringIO(block)
