"""Arrays that show whether their file is whole."""

import signal
import zipfile
from typing import IO, Any

import numpy as np
import pytest

from ngram.formats.model_files import sealed


def test_an_interrupt_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive that is closed in the midst of a file says so with an error of its own."""
    opened = zipfile.ZipFile.open

    def interrupted(*args: Any, **kwargs: Any) -> IO[bytes]:
        file = opened(*args, **kwargs)
        signal.raise_signal(signal.SIGINT)
        return file

    monkeypatch.setattr(zipfile.ZipFile, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sealed({"a": np.zeros(3)})
