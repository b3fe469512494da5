"""An EAGLE-3 head computes what the published implementation does, and reads either layout."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from reference.models.cached_model import CachedModel
from reference.state_heads.eagle3_folder import _taps, load_eagle3, save_eagle3
from reference.state_heads.head import causal_mask
from tests.reference.eagle3_laboratory import (
    CACHED,
    HEAD_WIDTH,
    HEADS,
    WIDTH,
    random_tensors,
    safeailabs,
    speculators,
    written,
)
from tests.reference.test_decoder_architectures import VOCABULARY, saved_pair

DRAFTED = 20
LAYER_IDS = [0, 1, 2]
TAPPED = {"eagle_aux_hidden_state_layer_ids": LAYER_IDS}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> CachedModel:
    folder = tmp_path_factory.mktemp("pair")
    model, _ = saved_pair("Llama", folder, 0, num_hidden_layers=2)
    model.name = "target"
    return model


def rms(x: Tensor, weight: Tensor) -> Tensor:
    return weight * x / (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()


def rotated(x: Tensor, position: int) -> Tensor:
    """Longhand: each pair (x_j, x_{j + d/2}) turned by position / theta^(2j/d)."""
    half = x.shape[-1] // 2
    angles = position / 5000.0 ** (torch.arange(half) / half)
    first, second = x[..., :half], x[..., half:]
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def longhand(
    w: dict[str, Tensor], embedded: Tensor, states: Tensor, *, normed_residual: bool = False
) -> Tensor:
    """Returns the state that the published layer makes at the last of some positions.

    `LlamaDecoderLayeremb` of SafeAILab's cnets.py, term by term.
    """
    normed = rms(states, w["hidden_norm.weight"])
    both = torch.cat([rms(embedded, w["input_layernorm.weight"]), normed], dim=-1)
    last = len(states) - 1
    q = (w["self_attn.q_proj.weight"] @ both[last]).view(HEADS, HEAD_WIDTH)
    out = torch.zeros(HEADS, HEAD_WIDTH)
    for head in range(HEADS):
        group = head // (HEADS // CACHED)
        rows = slice(group * HEAD_WIDTH, (group + 1) * HEAD_WIDTH)
        k = both @ w["self_attn.k_proj.weight"][rows].T
        v = both @ w["self_attn.v_proj.weight"][rows].T
        turned = torch.stack([rotated(k[place], place) for place in range(len(states))])
        scores = turned @ rotated(q[head], last) / HEAD_WIDTH**0.5
        out[head] = scores.softmax(dim=-1) @ v
    attended = w["self_attn.o_proj.weight"] @ out.flatten()
    state = (normed if normed_residual else states)[last] + attended
    inner = rms(state, w["post_attention_layernorm.weight"])
    gate = torch.nn.functional.silu(w["mlp.gate_proj.weight"] @ inner)
    return state + w["mlp.down_proj.weight"] @ (gate * (w["mlp.up_proj.weight"] @ inner))


@torch.no_grad()
@pytest.mark.parametrize(
    "variant", [{}, {"norm_before_residual": True}, {"norm_output": True}], ids=str
)
@pytest.mark.parametrize("layout", ["midlayer", "layers.0"])
def test_logits_are_those_of_the_published_formula(
    layout: str, variant: dict[str, bool], target: CachedModel, tmp_path: Path
) -> None:
    tensors = random_tensors(vocabulary=VOCABULARY, drafted=DRAFTED, layer=layout, embedding=True)
    config = safeailabs if layout == "midlayer" else speculators
    folder = written(tmp_path / "head", config(VOCABULARY, DRAFTED, **TAPPED, **variant), tensors)
    head = load_eagle3(folder, target.module, name="target")
    w = {key.removeprefix(f"{layout}."): value for key, value in tensors.items()}
    ids = torch.tensor([3, 7, 7, 1, 20, 42])
    hidden = torch.randn(4, 3 * WIDTH, generator=torch.Generator().manual_seed(5))
    cache = head.empty_cache()
    states, embedded = hidden @ w["fc.weight"].T, w["embed_tokens.weight"][ids]
    entered = head.entry(hidden[None])
    mask = causal_mask(4, 0, entered)
    made = head(head.embed(ids[None, :4]), entered, torch.arange(4)[None], mask, cache)[:, -1:]
    for position in range(4, 6):
        expected = longhand(
            w, embedded[:position], states, normed_residual="norm_before_residual" in variant
        )
        outward = rms(expected, w["norm.weight"])
        expected = outward if "norm_output" in variant else expected
        torch.testing.assert_close(made[0, 0], expected, rtol=1e-4, atol=1e-5)
        row = torch.full((VOCABULARY,), -torch.inf)
        row[2 * torch.arange(DRAFTED)] = w["lm_head.weight"] @ outward
        torch.testing.assert_close(head.logits(made)[0, 0], row, rtol=1e-4, atol=1e-4)
        # The next step reads the head's own state and the embedding of the drafted token.
        states = torch.cat([states, expected[None]])
        place = torch.tensor([[position]])
        made = head(head.embed(ids[None, position : position + 1]), made, place, None, cache)


def test_missing_parts_of_a_head_are_the_targets(target: CachedModel, tmp_path: Path) -> None:
    tensors = random_tensors(vocabulary=VOCABULARY, drafted=VOCABULARY)
    del tensors["lm_head.weight"]
    folder = written(tmp_path, safeailabs(VOCABULARY, VOCABULARY, **TAPPED), tensors)
    head = load_eagle3(folder, target.module, name="target")
    ids = torch.tensor([[4, 5]])
    assert torch.equal(head.embed(ids), target.module.get_input_embeddings()(ids))
    state = torch.randn(1, 1, WIDTH)
    outward = rms(state, tensors["norm.weight"])
    expected = target.module.get_output_embeddings()(outward)
    torch.testing.assert_close(head.logits(state), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "layers", "taps"),
    [
        ({}, 32, (2, 16, 29)),
        ({"eagle_aux_hidden_state_layer_ids": [2, 18, 33]}, 36, (2, 18, 33)),
        ({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 17, 32]}}, 36, (2, 18, 33)),
    ],
)
def test_either_way_of_counting_layers_names_the_same_states(
    settings: dict[str, Any], layers: int, taps: tuple[int, ...]
) -> None:
    assert _taps(settings, layers) == taps


def test_a_head_that_is_written_is_read_again(target: CachedModel, tmp_path: Path) -> None:
    tensors = random_tensors(vocabulary=VOCABULARY, drafted=DRAFTED, layer="layers.0")
    given = written(tmp_path / "a", speculators(VOCABULARY, DRAFTED, **TAPPED), tensors)
    head = load_eagle3(given, target.module, name="target")
    save_eagle3(tmp_path / "b", head)
    again = load_eagle3(tmp_path / "b", target.module, name="target")
    assert again.taps == head.taps == tuple(LAYER_IDS)
    for key, value in head.state_dict().items():
        torch.testing.assert_close(again.state_dict()[key], value, rtol=1e-3, atol=1e-3)


def test_a_head_of_the_whole_vocabulary_is_written_without_a_map(
    target: CachedModel, tmp_path: Path
) -> None:
    """vLLM refuses one; a head of some ids needs it."""
    for drafted, maps in ((VOCABULARY, set()), (DRAFTED, {"d2t", "t2d"})):
        tensors = random_tensors(vocabulary=VOCABULARY, drafted=drafted)
        written(tmp_path / "a", safeailabs(VOCABULARY, drafted, **TAPPED), tensors)
        save_eagle3(tmp_path / "b", load_eagle3(tmp_path / "a", target.module, name="target"))
        assert load_file(tmp_path / "b" / "model.safetensors").keys() & {"d2t", "t2d"} == maps
        load_eagle3(tmp_path / "b", target.module, name="target")


def without(name: str) -> Any:
    return lambda config, tensors: tensors.pop(name)


def changed(**settings: object) -> Any:
    return lambda config, tensors: config.update(settings)


def replaced(name: str, value: Tensor) -> Any:
    return lambda config, tensors: tensors.update({name: value})


EVERY_ID = torch.ones(VOCABULARY, dtype=torch.bool)
REFUSED = {
    "width": (changed(target_hidden_size=32), "states of 16, the width of target, got one for 32"),
    "vocabulary": (changed(vocab_size=60), "50 ids, the vocabulary of target, got one for 60"),
    "kind": (changed(speculators_model_type="peagle"), "must describe an EAGLE-3 head, got peagle"),
    "size": (changed(hidden_size=None), "hidden_size in .* must be an integer, got None"),
    "layers": (changed(eagle_aux_hidden_state_layer_ids=[0, 1, 3]),
               "must lie between 0 and 2, the layers of target, got 3"),
    "missing": (without("midlayer.mlp.up_proj.weight"),
                r"must have all of its tensors, got none for midlayer\.mlp\.up_proj\.weight$"),
    "no map": (without("d2t"), "got none for d2t$"),
    "unknown": (replaced("midlayer.self_attn.q_norm.weight", torch.ones(8)),
                r"must have only the tensors of EAGLE-3, got midlayer\.self_attn\.q_norm\.weight"),
    "shape": (replaced("fc.weight", torch.ones(16, 32)),
              r"fc\.weight in .* must have the shape \(16, 48\), got \(16, 32\)"),
    "range": (replaced("d2t", torch.arange(DRAFTED) + 12),
              "d2t in .* must map into the 50 ids of the target, got 50 for the draft's id 19"),
    "twice": (replaced("d2t", -torch.arange(DRAFTED)), "must map no two ids to one"),
    "mask": (replaced("t2d", EVERY_ID), "t2d in .* must mark the ids that d2t maps to"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_head_that_does_not_fit_is_refused(
    case: str, target: CachedModel, tmp_path: Path
) -> None:
    change, message = REFUSED[case]
    config = safeailabs(VOCABULARY, DRAFTED, **TAPPED)
    tensors = random_tensors(vocabulary=VOCABULARY, drafted=DRAFTED)
    change(config, tensors)
    folder = written(tmp_path, config, tensors)
    with pytest.raises(ValueError, match=message):
        target.tap(load_eagle3(folder, target.module, name="target").taps)


def test_pickled_weights_are_refused_unread(target: CachedModel, tmp_path: Path) -> None:
    written(tmp_path, safeailabs(VOCABULARY, DRAFTED), {"x": torch.ones(1)})
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"must be safetensors, got pytorch_model\.bin, which is"):
        load_eagle3(tmp_path, target.module, name="target")


def test_a_folder_without_a_head_is_refused(target: CachedModel, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a folder with a head, got .* without config\.json"):
        load_eagle3(tmp_path, target.module, name="target")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="must be JSON, got"):
        load_eagle3(tmp_path, target.module, name="target")
