"""The hash by which files know one another."""

import hashlib
from pathlib import Path


def content_hash(path: Path) -> str:
    """Returns the SHA-256 of a file's content, in hexadecimal digits.

    Raises:
      OSError: if it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
