"""Multi-token prediction (DeepSeek-AI 2024, DeepSeek-V3, section 2.2): a target's own head.

    x = W [norm_e(e), norm_h(h)],    s' = layer(x),    logits = head(norm(s'))

h is what the target's output embedding reads, e the embedding of the next token; the layer is one
more of the target's own, embedding and head are the target's. The next step reads s' in place of h.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import Cache

from reference.models.layer_stack import layer_stack
from reference.state_heads.head import StateHead


class Mtp(StateHead):
    """One layer of multi-token prediction; its parameters are named as on file."""

    taps = (None,)
    depth = 1

    def __init__(self, target: Any, *, name: str) -> None:
        """Makes an untrained head.

        Args:
          target: a `PreTrainedModel`, whose last layer's kind it takes.
          name: of the target, for messages.

        Raises:
          ValueError: if the target's layers are no single stack.
        """
        super().__init__()
        _, layers = layer_stack(target, what="multi-token prediction", name=name)
        config, decoder = target.config.get_text_config(decoder=True), target.get_decoder()
        width, norm = config.hidden_size, type(decoder.norm)
        self.enorm = norm(width, eps=config.rms_norm_eps)
        self.hnorm = norm(width, eps=config.rms_norm_eps)
        self.eh_proj = nn.Linear(2 * width, width, bias=False)
        layer: Any = type(layers[-1])(config, len(layers) - 1)
        layer.self_attn.layer_idx = 0   # in a cache of its own
        self.layer = layer
        self.norm = norm(width, eps=config.rms_norm_eps)
        # In a tuple: they are the target's, and none of this module's own.
        self._of_target = (
            target.get_input_embeddings(), target.get_output_embeddings(), decoder.rotary_emb
        )

    def get_output_embeddings(self) -> Any:
        """Returns the output matrix that it uses, as `PreTrainedModel` names this."""
        return self._of_target[1]

    def embed(self, tokens: Tensor) -> Tensor:
        embedded: Tensor = self._of_target[0](tokens)
        return embedded

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
            position_embeddings=self._of_target[2](joined, positions),
        )
        return made

    def logits(self, states: Tensor) -> Tensor:
        rows: Tensor = self._of_target[1](self.norm(states))
        return rows
