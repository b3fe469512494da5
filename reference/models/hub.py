"""Access to the Hugging Face hub, and the reason why a name or folder cannot be loaded."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from huggingface_hub import constants, try_to_load_from_cache
from huggingface_hub import logging as hub_logging
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError

# The local cache has one of these for every model or tokenizer that was loaded before.
FIRST_FILES = ("config.json", "tokenizer_config.json", "tokenizer.json")
PORTS = {"https": 443, "http": 80}
CONNECTION_SECONDS = 10.0


@contextmanager
def quiet() -> Iterator[None]:
    """Suppresses retry warnings and all progress bars except the bars of downloads."""
    from transformers.utils import logging as transformers_logging

    verbosity = hub_logging.get_verbosity()
    hub_logging.set_verbosity(logging.ERROR)
    hook = transformers_logging.set_tqdm_hook(
        lambda bar, given, settings: bar(*given, **(settings | {"disable": True}))
    )
    try:
        yield
    finally:
        transformers_logging.set_tqdm_hook(hook)
        hub_logging.set_verbosity(verbosity)


def require_reachable(name: str, revision: str | None) -> None:
    """Refuses a model that must be downloaded if the Hugging Face hub cannot be reached.

    The hub's own library would retry for most of a minute.
    """
    if Path(name).exists() or constants.HF_HUB_OFFLINE or getproxies():
        return
    cached = (try_to_load_from_cache(name, file, revision=revision) for file in FIRST_FILES)
    if not any(isinstance(file, str) for file in cached):
        require_hub()


def require_hub() -> None:
    """Raises ConnectionError if the hub cannot be reached; does nothing offline or with a proxy."""
    if constants.HF_HUB_OFFLINE or getproxies():
        return
    hub = urlsplit(constants.ENDPOINT)
    port = PORTS[hub.scheme] if hub.port is None else hub.port
    try:
        socket.create_connection((hub.hostname, port), CONNECTION_SECONDS).close()
    except OSError as error:
        raise ConnectionError(
            f"there is no such folder, and {constants.ENDPOINT} cannot be reached ({error})"
        ) from error


# Errors of transformers for a missing folder or damaged files.
UNLOADABLE = (
    OSError, ValueError, TypeError, KeyError, AttributeError, AssertionError, SafetensorError,
    StrictDataclassError,
)  # fmt: skip
