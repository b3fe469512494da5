"""Reads files that may have no end: whole up to a size limit, or in blocks of lines."""

import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

# The largest JSON file, configuration, page or line of a log.
MOST_BYTES = 64_000_000
BLOCK_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"


def read_whole(path: Path, *, most_bytes: int = MOST_BYTES) -> bytes:
    """Returns the content of a file, a device or a pipe."""
    with path.open("rb") as file:
        return limited(file.read, str(path), most_bytes=most_bytes)


def limited(read: Callable[[int], bytes], name: str, *, most_bytes: int = MOST_BYTES) -> bytes:
    """Returns what `read` returns; ValueError if that is more than most_bytes.

    read: takes a number of bytes, as a file's `read` does.
    name: the file's name, for the message.
    """
    content = read(most_bytes + 1)
    if len(content) > most_bytes:
        raise ValueError(f"{name} must have at most {most_bytes / 1e6:g} MB, got more")
    return content


def read_json(path: Path, decode: Callable[[bytes], Any] = json.loads) -> Any:
    """Returns the content of a JSON file of at most MOST_BYTES; ValueError if it is not JSON."""
    content = read_whole(path)
    try:
        return decode(content)
    except RecursionError:
        raise ValueError(f"{path} must be JSON, got lists or objects nested too deep") from None
    except ValueError as error:
        raise ValueError(f"{path} must be JSON, got: {error}") from None


def json_objects(text: str, name: str) -> list[dict[str, Any]]:
    """Returns the JSON objects of a text: one, a list, or one per line; name is for messages."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        try:
            found = [json.loads(line) for line in text.split("\n") if line.strip()]
        except json.JSONDecodeError as error:
            raise ValueError(f"{name} must be JSON or a JSON object a line, got: {error}") from None
    objects = found if isinstance(found, list) else [found]
    if not objects:
        raise ValueError(f"{name} must hold at least one JSON object, got none")
    for value in objects:
        if not isinstance(value, dict):
            raise ValueError(f"{name} must be JSON objects, got {type(value).__name__}")
    return objects


def text_blocks(path: Path) -> Iterator[str]:
    """Yields a file in blocks of whole lines, about BLOCK_BYTES each; unpacks gzip.

    Bytes that are not UTF-8 become replacement characters. The last block may lack a newline.
    Refuses damaged gzip, and lines longer than MOST_BYTES.
    """
    with path.open("rb") as file:
        packed = file.peek(len(_GZIP)).startswith(_GZIP)
        try:
            yield from _blocks(gzip.GzipFile(fileobj=file) if packed else file, str(path))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{path} must be whole gzip, got: {error}") from None


def text_lines(path: Path) -> Iterator[str]:
    """Yields the lines of a file, with their newlines; see `text_blocks`."""
    for block in text_blocks(path):
        yield from io.StringIO(block)


def _blocks(file: IO[bytes] | gzip.GzipFile, name: str) -> Iterator[str]:
    while block := file.read(BLOCK_BYTES):
        if not block.endswith(b"\n"):
            block += limited(file.readline, f"a line of {name}")
        yield block.decode("utf-8", errors="replace")
