"""Counts with one computed layer of each kind equal counts of passes through all layers."""

from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoConfig

from estimator.model_shapes import counting
from estimator.model_shapes.alike_layers import AlikeLayers
from estimator.model_shapes.counting import build, count, decoder_config
from tests.estimator.model_shapes.test_every_architecture import counted
from tests.estimator.model_shapes.test_kept_counts import SMALL


class Unlike(AlikeLayers):
    """Finds no layers that are alike."""

    def __init__(self, *_: object) -> None:
        self.layers, self.first = (), {}


# Windows, states and keys that later layers share; matrices that no module of theirs multiplies;
# layers that run several times; experts.
@pytest.mark.parametrize(
    "kind", ["gemma3n_text", "qwen3_next", "mamba", "jamba", "trocr", "hrm_text", "zamba2"]
)
@pytest.mark.filterwarnings("ignore")
def test_computing_one_layer_of_each_kind_changes_no_count(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, _ = counted(kind)
    parts: Any = ("whole", "last layer")
    short = [count(config, (), part) for part in parts]
    monkeypatch.setattr(counting, "AlikeLayers", Unlike)
    counting._built.cache_clear()
    assert short == [count(config, (), part) for part in parts]
    counting._built.cache_clear()


def test_layers_are_alike_up_to_their_number_and_others_are_not() -> None:
    config = SMALL | {"model_type": "gemma2", "num_hidden_layers": 6, "pad_token_id": 0}
    alike = AlikeLayers(build(decoder_config(config), model_type="gemma2"), None)
    assert alike.first == {2: 0, 3: 1, 4: 0, 5: 1}
    model = build(AutoConfig.for_model("llama", num_hidden_layers=4), model_type="llama")
    assert AlikeLayers(model, None).first == {1: 0, 2: 0, 3: 0}
    assert AlikeLayers(model, ["a", "b", "a", "b"]).first == {2: 0, 3: 1}
    model.model.layers[2].mlp.up_proj = nn.Linear(4096, 99, device="meta")
    model.model.layers[3].mlp = model.model.layers[1].mlp  # shared
    assert AlikeLayers(model, None).first == {}


def test_a_layer_that_runs_twice_is_refused() -> None:
    model = build(AutoConfig.for_model("llama", num_hidden_layers=2), model_type="llama")
    alike = AlikeLayers(model, None)
    ids = torch.ones(1, 2, dtype=torch.long, device="meta")
    with pytest.raises(ValueError, match="must run once each"), alike.once():
        assert [model(input_ids=ids) for _ in range(2)]
    assert not any("forward" in vars(layer) for layer in alike.layers)
