"""Loading is quiet, and an unreachable hub is reported at once."""

import logging
import socket
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants
from transformers.utils import logging as transformers_logging

from reference.models.embedded import weights_folder
from reference.models.hub import quiet, require_reachable
from reference.models.huggingface import load_model, load_tokenizer


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither offline mode, nor a proxy, nor anything in the cache."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("reference.models.hub.getproxies", dict)


@pytest.fixture
def closed(online: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """Returns the address of a hub at a port of this machine where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    return endpoint


def test_an_unreachable_hub_is_one_short_line(closed: str) -> None:
    message = f"there is no such folder, and {closed} cannot be reached"
    with pytest.raises(ValueError, match=f"^tokenizer 'a/b' could not be loaded: {message}"):
        load_tokenizer("a/b")
    with pytest.raises(ValueError, match=f"^model 'a/b' could not be loaded: {message}"):
        load_model("a/b", device=torch.device("cpu"))


def test_a_hub_that_answers_is_not_refused(online: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{port}")
        require_reachable("a/b", None)


def test_folders_and_what_is_cached_need_no_hub(
    closed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_reachable(str(tmp_path), None)
    monkeypatch.setattr(
        "reference.models.hub.try_to_load_from_cache", lambda *_, **__: "config.json"
    )
    require_reachable("a/b", None)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("huggingface_hub.constants.HF_HUB_OFFLINE", True),
        ("reference.models.hub.getproxies", lambda: {"https": "http://127.0.0.1:1"}),
    ],
)
def test_offline_work_and_proxies_are_left_to_the_library(
    closed: str, monkeypatch: pytest.MonkeyPatch, place: str, value: object
) -> None:
    monkeypatch.setattr(place, value)
    require_reachable("a/b", None)


def test_warnings_and_bars_are_held_back_and_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("huggingface_hub.utils._http")
    level = logger.getEffectiveLevel()
    with quiet():
        assert not logger.isEnabledFor(logging.WARNING)
        assert list(transformers_logging.tqdm(range(3), desc="weights")) == [0, 1, 2]
        assert capsys.readouterr().err == ""
    assert logger.getEffectiveLevel() == level
    assert list(transformers_logging.tqdm(range(3), desc="weights")) == [0, 1, 2]
    assert "weights" in capsys.readouterr().err


def test_loading_weights_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    transformers_logging.enable_progress_bar()
    load_model(str(weights_folder("draft")), device=torch.device("cpu"))
    assert capsys.readouterr().err == ""
