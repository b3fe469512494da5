"""Multi-token prediction (DeepSeek-AI 2024, DeepSeek-V3, section 2.2): a head shipped with a model.

    x = W [norm_e(e), norm_h(h)],    s' = layer(x),    logits = head(norm(s'))

h is the input of the target's output embedding, e the embedding of the next token. The layer has
the kind of the target's layers; embedding and head are the target's. The next step reads s' in
place of h.
"""

import re
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn
from transformers import Cache

from reference.models.memory import layer_stack
from reference.state_heads.head import StateHead


class Mtp(StateHead):
    """One layer of multi-token prediction; its parameters have the names used in model files."""

    taps = (None,)
    depth = 1

    def __init__(self, target: Any, *, name: str) -> None:
        super().__init__(target)
        _, layers = layer_stack(target, what="multi-token prediction", name=name)
        config, decoder = target.config.get_text_config(decoder=True), target.get_decoder()
        for owner, part in ((decoder, "norm"), (decoder, "rotary_emb"), (layers[-1], "self_attn")):
            if getattr(owner, part, None) is None:
                raise ValueError(
                    f"multi-token prediction needs a decoder with {part}, got {name} "
                    f"({config.model_type})"
                )
        width, norm = config.hidden_size, type(decoder.norm)
        self.enorm = norm(width, eps=config.rms_norm_eps)
        self.hnorm = norm(width, eps=config.rms_norm_eps)
        self.eh_proj = nn.Linear(2 * width, width, bias=False)
        layer: Any = type(layers[-1])(config, len(layers) - 1)
        layer.self_attn.layer_idx = 0  # the head has a cache of its own
        self.layer = layer
        self.norm = norm(width, eps=config.rms_norm_eps)
        self._rotary = (decoder.rotary_emb,)  # the target's, too

    def entry(self, states: Tensor) -> Tensor:
        return states

    def forward(
        self, embedded: Tensor, states: Tensor, positions: Tensor, mask: Tensor | None, cache: Cache
    ) -> Tensor:
        joined = self.eh_proj(torch.cat([self.enorm(embedded), self.hnorm(states)], dim=-1))
        made: Tensor = self.layer(
            joined,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            position_embeddings=self._rotary[0](joined, positions),
        )
        return made

    def logits(self, states: Tensor) -> Tensor:
        rows: Tensor = self.get_output_embeddings()(self.norm(states))
        return rows


# Copies of the target's matrices.
SHARED = ("embed_tokens.weight", "shared_head.head.weight")
OWN = ("enorm.", "hnorm.", "eh_proj.")
EXPERT = re.compile(r"mlp\.experts\.(\d+)\.(gate|up|down)_proj\.weight")


def load_mtp(folder: Path, target: Any, *, name: str) -> Mtp:
    """Returns the layer of multi-token prediction that follows the layers in a target's files."""
    config = target.config.get_text_config(decoder=True)
    first = config.num_hidden_layers
    tensors = _stored(folder, first)
    if not tensors:
        raise ValueError(
            f"{name} must have a layer of multi-token prediction in safetensors, got none for "
            f"model.layers.{first} in {folder}"
        )
    if _stored(folder, first + 1):
        raise ValueError(
            f"{name} must have one layer of multi-token prediction to draft with, got several"
        )
    head = Mtp(target, name=name)
    expected = head.state_dict()
    missing = [key for key in expected if key not in tensors]
    if missing:
        raise ValueError(
            f"the layer of multi-token prediction of {name} must have all of its tensors, got none "
            f"for {missing[0]}"
        )
    head.load_state_dict({key: tensors[key] for key in expected})
    return head.placed_like(target)


def _stored(folder: Path, layer: int) -> dict[str, Tensor]:
    """Returns a layer's tensors by the head's names, with all experts in one tensor."""
    prefix = f"model.layers.{layer}."
    found: dict[str, Tensor] = {}
    experts: dict[str, dict[int, Tensor]] = {"gate": {}, "up": {}, "down": {}}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            for key in file.keys():  # noqa: SIM118
                name = key.removeprefix(prefix)
                if not key.startswith(prefix) or name in SHARED:
                    continue
                expert = EXPERT.fullmatch(name)
                if expert is not None:
                    experts[expert[2]][int(expert[1])] = file.get_tensor(key)
                elif name.startswith((*OWN, "shared_head.norm.")):
                    found[name.removeprefix("shared_head.")] = file.get_tensor(key)
                else:
                    found[f"layer.{name}"] = file.get_tensor(key)
    if experts["gate"]:
        gate, up, down = (
            torch.stack([of_kind[number] for number in sorted(of_kind)])
            for of_kind in experts.values()
        )
        found["layer.mlp.experts.gate_up_proj"] = torch.cat([gate, up], dim=1)
        found["layer.mlp.experts.down_proj"] = down
    return found
