"""An interrupt in the midst of short work comes at its end."""

import signal
import threading

import pytest

from reference.atomic import uninterrupted


def test_an_interrupt_comes_at_the_end_of_the_work() -> None:
    done = []

    @uninterrupted()
    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done


def test_the_handler_is_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_an_error_of_the_work_goes_on() -> None:
    with pytest.raises(ValueError, match="its own"), uninterrupted():
        raise ValueError("its own")


def test_another_thread_is_left_alone() -> None:
    seen = []

    def work() -> None:
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
