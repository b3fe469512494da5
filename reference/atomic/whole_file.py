"""Files that appear only when complete."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
