"""Files with a server's output."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engines.observing.observation import Observation
from engines.sources import observe


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., Observation]:
    """Returns a function that writes texts into files and observes them."""

    def write(*texts: str, gamma: int | None = None) -> Observation:
        paths = [tmp_path / f"{number}.txt" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        return observe([str(path) for path in paths], gamma=gamma)

    return write
