"""Records as JSON has them, and bytes written to a file that appears only when complete."""

from pathlib import Path
from typing import Any

import msgspec

from reference.atomic import whole_file


def builtins(value: Any) -> Any:
    """Returns records as objects, lists, strings and numbers; NumPy's scalars as Python's own."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=lambda scalar: scalar.item())


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file: until all of it is on the disk, path is what it was.

    Raises:
      OSError: if it cannot be written.
    """
    with whole_file(path) as partial:
        partial.write_bytes(content)
