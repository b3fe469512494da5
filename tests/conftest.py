"""What all tests rest on."""

import atexit
import os
import shutil
import signal
import tempfile
from pathlib import Path

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
