"""Bytes written to a file that appears only when complete."""

from pathlib import Path

from reference.atomic.whole_file import whole_file


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file: until all of it is on the disk, path is what it was.

    Raises:
      OSError: if it cannot be written.
    """
    with whole_file(path) as partial:
        partial.write_bytes(content)
