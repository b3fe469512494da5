"""Fixtures and settings of all tests."""

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# A shell that starts the suite in the background has it ignore Ctrl-C, and with it all that tests
# start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests, and programs that they start, keep counts of models in a cache of their own; what other
# libraries keep in the user's (fonts, data sets) stays in reach.
_users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
_own = Path(tempfile.mkdtemp(prefix="specplan-cache-"))
atexit.register(shutil.rmtree, _own, ignore_errors=True)
for _each in _users.iterdir() if _users.is_dir() else ():
    if _each.name != "specplan":
        (_own / _each.name).symlink_to(_each.absolute())
os.environ["XDG_CACHE_HOME"] = str(_own)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collects without looking for garbage: imports and tests stay until the process ends."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def no_kernel_tables(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the tables of measured kernels, so that plans of any GPU have the roofline's costs.

    Tests that ask for the fixture `kernel_tables` see them, as users do.
    """
    if "kernel_tables" in request.fixturenames:
        return
    import estimator.costs.kernel_tables

    hidden = "the tests hide them"
    monkeypatch.setattr(estimator.costs.kernel_tables, "missing", lambda *_: hidden)


@pytest.fixture
def kernel_tables() -> None:
    """Lets a test see the tables of measured kernels."""
