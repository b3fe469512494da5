"""Heads on the target's hidden states: their common part, and multi-token prediction.

At position i a head reads a state of token i and the embedding of token i + 1. Its result predicts
token i + 2, and is the state at position i + 1. The first state of a draft is the target's, later
ones are the head's own (Li et al. 2025, EAGLE-3; DeepSeek-AI 2024, section 2.2).
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self, cast

import torch
from safetensors import safe_open
from torch import Tensor, nn
from transformers import Cache, DynamicCache

from reference.models.matching import require_prediction_layer
from reference.models.memory import RoomyLayer, layer_stack
from reference.models.text_tree import hidden_at


class StateHead(nn.Module, ABC):
    """A head that drafts from a target's hidden states; it uses the target's embeddings.

    taps: boundaries of the target's layers whose states the head reads, concatenated
      (`reference.models.memory.record_layers`).
    depth: number of the head's own layers, which cache keys and values.

    Example: `Mtp`, which has one layer.
    """

    taps: tuple[int | None, ...]
    depth: int

    def __init__(self, target: Any) -> None:
        """Makes an untrained head for a `PreTrainedModel`."""
        super().__init__()
        # In a tuple, so that they do not become submodules.
        self._of_target = (target.get_input_embeddings(), target.get_output_embeddings())

    def get_output_embeddings(self) -> Any:
        return self._of_target[1]

    def embed(self, tokens: Tensor) -> Tensor:
        """Returns the embeddings of ids, shape (..., width)."""
        return cast(Tensor, self._of_target[0](tokens))

    def placed_like(self, target: Any) -> Self:
        """Moves the trained head to the target's device and precision; returns it, for drafting."""
        like = target.get_input_embeddings().weight
        return self.to(like.device, like.dtype).eval().requires_grad_(False)

    @abstractmethod
    def entry(self, states: Tensor) -> Tensor:
        """Returns the head's input states for the target's states, shape (..., width)."""

    @abstractmethod
    def forward(
        self, embedded: Tensor, states: Tensor, positions: Tensor, mask: Tensor | None, cache: Cache
    ) -> Tensor:
        """Returns the head's states at the next positions, shape (batch, n, width).

        embedded, states: embeddings of the tokens after the positions, and states at the positions,
          both of shape (batch, n, width); positions: shape (1, n).
        mask: added to attention scores, shape (1, 1, n, cached + n); None: a single position
          attends to all cached ones.
        cache: keys and values of earlier positions; the n new positions are appended to it.
        """

    @abstractmethod
    def logits(self, states: Tensor) -> Tensor:
        """Returns logits over the target's vocabulary; -inf for ids that the head never drafts."""

    def empty_cache(self) -> Cache:
        """Returns an empty cache that can be rolled back."""
        cache = DynamicCache()
        cache.layers = [RoomyLayer() for _ in range(self.depth)]
        return cache


def causal_mask(rows: int, before: int, like: Tensor) -> Tensor | None:
    """Returns the causal mask for `rows` positions after `before` cached ones; None for one row."""
    if rows == 1:
        return None
    seen = torch.ones(rows, before + rows, dtype=torch.bool, device=like.device).tril(before)
    return hidden_at(~seen, like.dtype)


def unrolled(
    head: StateHead, states: Tensor, tokens: Tensor, cache: Any, *, first: int, steps: int
) -> Iterator[Tensor]:
    """Yields, for each draft step, the head's states in N drafts, which begin at N positions.

    The states have shape (batch, N, width). The first step is a causal pass over the target's
    states. In each later step a draft also attends to its own earlier steps ("training-time test",
    Li et al. 2025, section 3.2, Figure 6).

    states: the target's states at N consecutive positions, shape (batch, N, width).
    tokens: the ids from the second position on, shape (batch, N + steps - 1).
    cache: keys and values of the positions before the first; each step appends N positions.
    first: index in the text of the first of the N positions.
    """
    count = states.shape[1]
    state = head.entry(states)
    seen = torch.ones(count, first + count, dtype=torch.bool, device=state.device).tril(first)
    itself = torch.eye(count, dtype=torch.bool, device=state.device)
    positions = torch.arange(first, first + count, device=state.device)[None]
    for step in range(steps):
        if step > 0:
            seen = torch.cat([seen, itself], dim=1)
        embedded = head.embed(tokens[:, step : step + count])
        state = head(embedded, state, positions + step, hidden_at(~seen, state.dtype), cache)
        yield state


class Mtp(StateHead):
    """One layer of multi-token prediction (DeepSeek-AI 2024, DeepSeek-V3, section 2.2).

        x = W [norm_e(e), norm_h(h)],    s' = layer(x),    logits = head(norm(s'))

    h is the input of the target's output embedding, e the embedding of the next token. The layer is
    built like the target's layers; embedding and head are the target's. The next step reads s' in
    place of h. The parameters have the names used in model files.
    """

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
    """Returns the multi-token-prediction layer in a target's files, stored after its last layer."""
    config = target.config.get_text_config(decoder=True)
    require_prediction_layer(folder, config.num_hidden_layers, name)
    tensors = _stored(folder, config.num_hidden_layers)
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
    """Returns a stored layer's tensors by the head's names; all experts share one tensor."""
    prefix = f"model.layers.{layer}."
    weights: dict[str, Tensor] = {}
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
                    weights[name.removeprefix("shared_head.")] = file.get_tensor(key)
                else:
                    weights[f"layer.{name}"] = file.get_tensor(key)
    if experts["gate"]:
        gate, up, down = (
            torch.stack([of_kind[number] for number in sorted(of_kind)])
            for of_kind in experts.values()
        )
        weights["layer.mlp.experts.gate_up_proj"] = torch.cat([gate, up], dim=1)
        weights["layer.mlp.experts.down_proj"] = down
    return weights
