"""Decodes the target's own texts for several prompts at once."""

import inspect
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from reference.laws import Sampling
from reference.models.architectures import transformers_module
from reference.models.cached_model import forbidden_ids
from reference.models.model import Model, peaks, require_finite, text_limit
from reference.records import Stopping
from reference.speculative import opening_text

# Families whose attention uses distances only, which padding on the left does not change.
DISTANCES_ALONE = frozenset({"bloom", "mpt"})


Ids = Sequence[int]
"""Token ids of a text."""
Prompts = Sequence[Ids]
"""Token ids of each prompt, at least one prompt."""


@torch.inference_mode()
def decode_batch(
    target: Model,
    prompts: Prompts,
    *,
    sampling: Sampling,
    stopping: Stopping,
    generators: Sequence[torch.Generator],
) -> list[tuple[int, ...]]:
    """Returns the target's own continuation of each prompt, as `plain_session` decodes it.

    Each text is sampled with its own generator. So it equals the text in a batch of one, unless
    the batch's different rounding changes a sampled token.

    target: a transformers model.
    generators: one for each prompt, on the target's device.
    """
    texts = [opening_text(target, prompt, stopping) for prompt in prompts]
    module, device = batch_module(target, texts), target.device
    given = [len(text) for text in texts]
    batch, forbidden = _Batch(module, prompts, device), forbidden_ids(module, device)
    going = list(range(len(prompts)))
    feed, mask = padded(texts, device, side="left")
    while going:
        logits = batch.last_logits(feed, mask)
        if forbidden is not None:
            logits = logits.index_fill(-1, forbidden, -torch.inf)
        largest = peaks(logits).tolist()
        # A row that has ended is fed further, and its output is ignored.
        feed = torch.zeros_like(feed[:, :1])
        mask = torch.ones_like(feed)
        for row in list(going):
            text = texts[row]
            require_finite([largest[row]], target.name, len(text))
            token = int(sampling.laws(logits[row : row + 1], text).draw(generators[row]))
            kept, ending = stopping.cut(text, [token], emitted=len(text) - given[row])
            text += kept
            feed[row] = token
            if ending is not None:
                going.remove(row)
    return [tuple(text[start:]) for text, start in zip(texts, given, strict=True)]


def batch_module(target: Model, texts: Prompts) -> Any:
    """Returns the target's `PreTrainedModel`, if it can decode these texts at once.

    Raises ValueError if padding would shift the texts' positions, or if only some of the texts
    begin beyond the RoPE switch length, because all rows of a pass share the rotary factors.
    """
    module = transformers_module(target)
    if module is None:
        raise ValueError(f"a batch needs a transformers model, got {target.name}")
    config = module.config
    given = "position_ids" in inspect.signature(module.forward).parameters
    if not (config.is_encoder_decoder or given or config.model_type in DISTANCES_ALONE):
        raise ValueError(
            f"a batch needs a model whose positions can be given, got {target.name} "
            f"({config.model_type}), which counts them from the padding on; use `batch_size` 1"
        )
    if len({text_limit(target, len(text)) for text in texts}) > 1:
        raise ValueError(
            "the texts of a batch must all begin before or all beyond the "
            f"{target.rope_switch_length} positions up to which {target.name} keeps its short "
            "rotary factors, got both; use `batch_size` 1"
        )
    return module


def padded(
    texts: Prompts, device: torch.device, *, side: Literal["left", "right"]
) -> tuple[Tensor, Tensor]:
    """Returns ids padded to one length and their mask (1: text), both of shape (texts, longest).

    A decoder's texts must end together and are padded on the left. An encoder's texts must begin
    together, because their positions count from the beginning of the row.
    """
    rows = [torch.tensor(text, device=device) for text in texts]
    ids = pad_sequence(rows, batch_first=True, padding_side=side)
    ones = [torch.ones_like(row) for row in rows]
    return ids, pad_sequence(ones, batch_first=True, padding_side=side)


class _Batch:
    """A transformers model that reads several texts at once and keeps its cache between passes."""

    def __init__(self, module: Any, prompts: Prompts, device: torch.device) -> None:
        self._module = module
        self._parameters = frozenset(inspect.signature(module.forward).parameters)
        self._cache: Any = None
        self._mask = torch.empty(len(prompts), 0, dtype=torch.int64, device=device)
        self._encoded: dict[str, Any] = {}
        if module.config.is_encoder_decoder:
            ids, mask = padded(prompts, device, side="right")
            outputs = module.get_encoder()(input_ids=ids, attention_mask=mask)
            self._encoded = {"encoder_outputs": outputs, "attention_mask": mask}

    def last_logits(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Returns the logits after the last of each text's ids, shape (texts, vocabulary)."""
        self._mask = torch.cat([self._mask, mask], dim=1)
        if self._encoded:  # decoders' texts begin alike, so none is padded
            inputs = {"decoder_input_ids": ids, **self._encoded}
        else:
            inputs = {"input_ids": ids, "attention_mask": self._mask}
            if "position_ids" in self._parameters:
                positions = (self._mask.cumsum(dim=1) - 1).clamp(min=0)
                inputs["position_ids"] = positions[:, -ids.shape[1] :]
            if "logits_to_keep" in self._parameters:
                inputs["logits_to_keep"] = 1
        output = self._module(**inputs, past_key_values=self._cache, use_cache=True)
        self._cache = output.past_key_values
        logits: Tensor = output.logits[:, -1]
        return logits
