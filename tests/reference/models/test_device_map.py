"""Models spread over devices: maps that are none, and decoding through accelerate's hooks."""

import json

import pytest
import torch
from decoding import alone
from tiny_models import llama

from reference.laws import Sampling
from reference.models.cached_model import CachedModel, input_device, is_spread
from reference.models.derived import early_exit
from reference.models.huggingface import DeviceMap, load_model, parse_device_map
from reference.stopping import Stopping

CPU = torch.device("cpu")
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
    kept_elsewhere: DeviceMap = {
        "model.embed_tokens": "disk",
        "model.layers": "cpu",
        "model.norm": "cpu",
        "model.rotary_emb": "cpu",
        "lm_head": "cpu",
    }
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
def test_what_is_no_map_of_this_machine_is_refused(
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
