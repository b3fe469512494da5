"""Loading: quiet, on one device or several, and refused in one line where nothing can be loaded."""

import json
import logging
import re
import socket
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from reference.laws import Sampling
from reference.models.architectures import early_exit
from reference.models.cached_model import CachedModel, input_device, is_spread
from reference.models.device_maps import DeviceMap, parse_device_map
from reference.models.embedded import weights_folder
from reference.models.folders import ADVICE, unloadable
from reference.models.hub import quiet, require_reachable
from reference.models.huggingface import (
    encode_chat,
    load_model,
    load_tokenizer,
)
from reference.records import Stopping
from tests.reference.decoding import alone
from tests.reference.tiny_models import llama


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


def test_folders_and_cached_models_need_no_hub(
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


CPU = torch.device("cpu")


def test_a_folder_without_a_file_is_refused_by_its_name(tmp_path: Path) -> None:
    def refused(what: str, lacks: str) -> Any:
        message = f"{what} {str(tmp_path)!r} could not be loaded: the folder has {lacks}; {ADVICE}"
        return pytest.raises(ValueError, match=re.escape(message) + "$")

    with refused("model", "no config.json"):
        load_model(str(tmp_path), device=CPU)
    with refused("tokenizer", "no config.json and no tokenizer.json"):
        load_tokenizer(str(tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with refused("tokenizer", "no tokenizer.json"):
        load_tokenizer(str(tmp_path))


def test_a_file_and_a_path_to_nothing_are_said_to_be_that(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("no model")
    for path, reason in ((note, "it is a file"), (tmp_path / "none", "there is no such folder")):
        for load in (load_tokenizer, partial(load_model, device=CPU)):
            with pytest.raises(ValueError, match=f"could not be loaded: {reason}; "):
                load(str(path))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"model_type": "llama", "vocab_size": "x"}', "StrictDataclassFieldValidationError: "),
        ("[1]", "Unrecognized model in "),
        ('{"model_type": "no-such-model"}', "The checkpoint you are trying to load"),
        ("{", "It looks like the config file"),
    ],
)
def test_a_damaged_configuration_is_bad_input(content: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ValueError, match=f"could not be loaded: {reason}"):
        load_model(str(tmp_path), device=CPU)


def test_a_message_that_goes_on_after_a_colon_is_not_cut_there() -> None:
    error = unloadable("model", "org/name", OSError("one of:\n (1) this\n (2) that"))
    assert str(error) == "model 'org/name' could not be loaded: one of: (1) this (2) that"
    error = unloadable("model", "org/name", OSError("not there.\nHave you thought of"))
    assert str(error) == "model 'org/name' could not be loaded: not there."


WORDS = ["<user>", "<answer>", "hello", "there", "?"]
TEMPLATE = (
    "{% for message in messages %}<{{ message.role }}> {{ message.content }} {% endfor %}"
    "{% if add_generation_prompt %}<answer>{% endif %}"
)


def tokenizer(template: str | None) -> PreTrainedTokenizerFast:
    tokens = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, "?"))
    tokens.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokens)
    fast.chat_template = template
    return fast


def test_a_prompt_is_a_users_message_and_the_answer_comes_next() -> None:
    assert encode_chat(tokenizer(TEMPLATE), "hello there", name="chatty") == [0, 2, 3, 1]


def test_a_tokenizer_without_a_chat_template_is_refused_by_name() -> None:
    message = "a chat needs a tokenizer with a chat template, got plain's, which has none"
    with pytest.raises(ValueError, match=message):
        encode_chat(tokenizer(None), "hello", name="plain")


# Two places as far as accelerate is concerned: what lies on the disk is brought for each pass.
SPREAD: DeviceMap = {"model": "cpu", "lm_head": "disk"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("spread")
    llama(initializer_range=0.5).save_pretrained(path)
    return str(path)


def text(model: CachedModel) -> tuple[int, ...]:
    return alone(model, [1, 2, 3], Sampling(0.0), Stopping(8)).tokens


@pytest.mark.parametrize("name", ["auto", "balanced", "balanced_low_0", "sequential"])
def test_on_a_cpu_alone_everything_is_on_it(folder: str, name: str) -> None:
    model = load_model(folder, device=CPU, device_map=parse_device_map(name))
    assert not is_spread(model.module)
    assert {weight.device for weight in model.module.parameters()} == {CPU}
    assert model.device == CPU
    assert model.module.dtype == torch.float32
    assert text(model) == text(load_model(folder, device=CPU))


@pytest.mark.parametrize(
    "device_map", [{"": "cpu"}, {"model": "cpu", "lm_head": "cpu"}, SPREAD], ids=str
)
def test_a_map_by_module_decodes_as_one_device_does(folder: str, device_map: DeviceMap) -> None:
    model = load_model(folder, device=CPU, device_map=device_map, dtype="float32")
    assert is_spread(model.module) == (device_map is SPREAD)
    assert input_device(model.module) == model.device == CPU
    assert text(model) == text(load_model(folder, device=CPU))


def test_inputs_go_where_the_first_layer_runs(folder: str) -> None:
    """Also where its weights are kept elsewhere and brought for each pass."""
    parts = ("model.layers", "model.norm", "model.rotary_emb", "lm_head")
    kept_elsewhere: DeviceMap = {"model.embed_tokens": "disk"} | dict.fromkeys(parts, "cpu")
    model = load_model(folder, device=CPU, device_map=kept_elsewhere, dtype="float32")
    assert model.module.device.type == "meta"
    assert model.device == CPU
    assert text(model) == text(load_model(folder, device=CPU))


def test_an_early_exit_of_a_spread_target_is_refused(folder: str) -> None:
    model = load_model(folder, device=CPU, device_map=SPREAD)
    with pytest.raises(ValueError, match="an early exit needs a target on one device, got "):
        early_exit(model, 1)


@pytest.mark.parametrize(
    ("device_map", "message"),
    [
        ({"model": "cpu"}, "device_map must place all of .*, got no device for lm_head.weight"),
        ({"": "cpu", "nothing": "cpu"}, "device_map must name modules of .*, got 'nothing'"),
    ],
)
def test_a_map_of_another_model_is_refused(
    folder: str, device_map: DeviceMap, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        load_model(folder, device=CPU, device_map=device_map)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("all", "device_map must be auto, balanced, balanced_low_0, sequential or a JSON object of "
         "a device for each module, got all"),
        ("{}", r"or a JSON object .*, got \{\}"),
        ("[0]", r"or a JSON object .*, got \[0\]"),
        ('{"": "cpu"', "or a JSON object"),
        ('{"": "disk"}', r"must name devices of this machine \(cpu\), got disk for ''"),
        ('{"model": 0, "lm_head": "cpu"}', r"devices of this machine \(cpu\), got 0 for 'model'"),
        ('{"": "cuda:1"}', "got cuda:1 for ''"),
        ('{"": true}', "got True for ''"),
        ('{"": null}', "got None for ''"),
    ],
)  # fmt: skip
def test_device_maps_of_other_machines_are_refused(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ValueError, match=message):
        parse_device_map(text)


def test_gpus_are_named_by_number_or_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    given = {"model": 0, "lm_head": "cuda:1", "": "cpu"}
    assert parse_device_map(json.dumps(given)) == given
    with pytest.raises(ValueError, match=r"machine \(0, 1, cpu, cuda:0, cuda:1\), got 2 for ''"):
        parse_device_map('{"": 2}')
