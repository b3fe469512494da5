"""Short work that Ctrl-C may not cut in two."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Holds a Ctrl-C back until the work inside is done, and then lets it happen.

    For libraries that turn an interrupt in their midst into an error of their own, as an archive
    does that is closed while a file in it is being written. Only the main thread is interrupted
    by signals; in another one nothing needs to be held back.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    came = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)
