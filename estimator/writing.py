"""Records as JSON, and files that are written atomically."""

from pathlib import Path
from typing import Any

import msgspec

from reference.files import whole_file


def builtins(value: Any) -> Any:
    """Returns a value as dictionaries, lists, strings and numbers, without NumPy types."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)


def json_text(value: object) -> str:
    """Returns an object or a record as JSON; numbers that are not finite become null."""
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=_plain), indent=2).decode()


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # a NumPy array or scalar, recognised without importing NumPy
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def write_json(value: object, path: Path) -> None:
    """Writes an object or a record as JSON, atomically."""
    write_whole(path, f"{json_text(value)}\n".encode())


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file atomically: until all of it is on the disk, the old content remains."""
    with whole_file(path) as partial:
        partial.write_bytes(content)
