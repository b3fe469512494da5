"""Outputs that one process at a time writes, whatever became of those before it."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


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
