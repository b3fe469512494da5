"""Arrays in an .npz file with its own hash, so that damage is detected.

The archive's comment is the SHA-256 of all bytes before it. Nothing is read from a damaged file.
Other programs read the file like any .npz.
"""

import hashlib
import io
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.atomic import uninterrupted

DIGITS = 64


def sealed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Returns the content of a compressed .npz file, with its own hash as the comment."""
    buffer = io.BytesIO()
    with uninterrupted():
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
    # The length of the comment is the last field of an archive.
    archive = buffer.getvalue()[:-2] + struct.pack("<H", DIGITS)
    return archive + _digest(archive)


def unsealed(content: bytes) -> dict[str, NDArray[Any]]:
    """Returns the arrays of a file that `sealed` made.

    Raises:
      ValueError: if the content is damaged or has another origin.
    """
    if content[-DIGITS:] != _digest(content[:-DIGITS]):
        raise ValueError("arrays must carry the hash of their content, got others or damaged ones")
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return dict(file)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
