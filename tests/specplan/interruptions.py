"""Training that dies, as a killed process does, once a checkpoint of it is written."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from reference.training import loop


class KilledError(BaseException):
    """Stands for a kill."""


@contextmanager
def killed_at_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ends what trains meanwhile as soon as it has written a checkpoint."""
    saved = loop.save_checkpoint

    def save_and_die(*arguments: Any, **settings: Any) -> None:
        saved(*arguments, **settings)
        raise KilledError

    with monkeypatch.context() as patches:
        patches.setattr(loop, "save_checkpoint", save_and_die)
        with pytest.raises(KilledError):
            yield
