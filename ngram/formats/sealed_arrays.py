"""Arrays in an .npz file that shows whether it is whole.

The archive's comment is the SHA-256 of all bytes before it, so nothing is read of a damaged file,
whatever reading it would lead to. Other programs read the file as any .npz.
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
    """Returns the content of a compressed .npz file of arrays with its own hash as comment."""
    buffer = io.BytesIO()
    with uninterrupted():
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
    # The length of the comment is an archive's last field.
    archive = buffer.getvalue()[:-2] + struct.pack("<H", DIGITS)
    return archive + _digest(archive)


def unsealed(content: bytes) -> dict[str, NDArray[Any]]:
    """Returns the arrays of such a file.

    Raises:
      ValueError: if the content is damaged or another's.
    """
    if content[-DIGITS:] != _digest(content[:-DIGITS]):
        raise ValueError("arrays must carry the hash of their content, got others or damaged ones")
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return dict(file)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
