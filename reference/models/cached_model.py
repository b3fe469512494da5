"""The common part of all transformers models: a decoder with a cache that rolls back."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

import torch
from torch import Tensor
from transformers import Cache

from reference.models.folders import POSITIONS
from reference.models.memory import States, record_layers, record_output
from reference.models.model import Stopwatch

# By model type: why a pass over several tokens differs from single steps.
UNFIT: dict[str, str] = {
    "cpmant": "its attention counts a prompt of its own in addition to the cache",
    "fsmt": "its decoder reads only the last token of a pass once it has a cache",
    "moshi": "only its own cache, which cannot roll back, keeps its attention window",
    "prophetnet": "its decoder takes one token a pass once it has a cache",
}
# Names of the setting for an encoder's most positions.
ENCODER_POSITIONS = ("max_encoder_position_embeddings", *POSITIONS)

Boundaries = tuple[int | None, ...]
"""Boundaries of a model's layers, counted as in `reference.models.memory.record_layers`."""


class CachedModel(ABC):
    """A transformers model behind the `Model` protocol; `CausalModel` is an example of a subclass.

    kind: "decoder-only" or "encoder-decoder".
    """

    kind: ClassVar[str]

    def __init__(self, module: Any, name: str) -> None:
        """Wraps a loaded model; refuses one that cannot be decoded speculatively."""
        self.module = module.eval()
        self.name = name
        config = module.config.get_text_config(decoder=True)
        self.vocabulary: int = config.vocab_size
        self.device: torch.device = input_device(module)
        require_fit(module.config, name)
        self.max_length = position_limit(config, POSITIONS)
        self.max_prompt = self.max_length
        self.rope_switch_length = rope_switch_length(config)
        self._require_rollback()
        if "past_key_values" not in inspect.signature(module.forward).parameters:
            raise ValueError(
                f"{self._title} keeps no cache of keys and values, which decoding needs"
            )
        self._forbidden = forbidden_ids(module, self.device)
        # By what they are read from: boundaries of the layers; none: the output embedding's input.
        self._states: dict[Boundaries, States] = {(): States(record_output(module))}
        self._stopwatch = Stopwatch(self.device)
        self._forget()

    @abstractmethod
    def _empty_cache(self) -> Cache:
        """Returns an empty cache that can be rolled back exactly."""

    @abstractmethod
    def beginning(self, prompt: Sequence[int]) -> list[int]: ...

    @abstractmethod
    def start(self, prompt: Sequence[int]) -> list[int]: ...

    @abstractmethod
    def _logits(self, tokens: Tensor, parents: Sequence[int] | None) -> Tensor:
        """Appends tokens to the cache; returns the logits after each of them."""

    def _forget(self) -> None:
        self._cache = self._empty_cache()
        self.length = 0
        for states in self._states.values():
            states.clear()

    def _grow(self, tokens: int) -> None:
        self.length += tokens
        for states in self._states.values():
            states.keep(self.length)

    def _settle(self) -> None:
        """Waits for the device, so that earlier work is not counted as the next block's time."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    @property
    def forward_seconds(self) -> float:
        return self._stopwatch.seconds

    def extend(self, tokens: Tensor, parents: Sequence[int] | None = None) -> Tensor:
        if not torch.is_inference_mode_enabled():  # entering it again is slow
            with torch.inference_mode():
                return self.extend(tokens, parents)
        with self._stopwatch:
            logits = self._logits(tokens, parents)
        self._grow(tokens.shape[0])
        if self._forbidden is None:
            return logits
        return logits.index_fill(-1, self._forbidden, -torch.inf)

    def state(self, position: int) -> Tensor | None:
        return self._states[()].at(position)

    def tap(self, boundaries: Boundaries) -> None:
        """Makes the model record hidden states at these layer boundaries, from the next text on."""
        if boundaries not in self._states:
            recorder = record_layers(self.module, boundaries, name=self.name)
            self._states[boundaries] = States(recorder)

    def tapped(self, boundaries: Boundaries, first: int, end: int) -> Tensor | None:
        """Returns the states at these boundaries, positions first to end - 1 (`States.between`)."""
        return self._states[boundaries].between(first, end)

    @torch.inference_mode()
    def keep(self, length: int, places: Sequence[int]) -> None:
        if list(places) != list(range(len(places))):
            kept = torch.tensor(places) + length
            for layer in self._cache.layers:
                for held in (layer.keys, layer.values):
                    end = length + len(places)
                    held[..., length:end, :] = held[..., kept.to(held.device), :]
            for states in self._states.values():
                states.choose(length, places)
        self.rollback(length + len(places))

    def rollback(self, length: int) -> None:
        self._require_length(length)
        if length < self.length:
            # Negative: the number of tokens to remove. 0 would remove all, hence the guard.
            self._cache.crop(length - self.length)
            self.length = length
            for states in self._states.values():
                states.cut(length)

    def _require_length(self, length: int) -> None:
        if not 0 <= length <= self.length:
            raise ValueError(f"length must lie in [0, {self.length}], got {length}")

    def _require_rollback(self) -> None:
        """Refuses a model that keeps state outside its cache, which could not be rolled back."""
        if self.module._is_stateful or not self.module._supports_default_dynamic_cache():
            self._refuse()

    @property
    def _title(self) -> str:
        """The model's name and family, for messages."""
        return f"{self.name} ({self.module.config.model_type})"

    def _refuse(self) -> NoReturn:
        raise ValueError(
            f"the cache of {self._title} cannot be rolled back, which speculative decoding needs; "
            "choose a model with attention layers only"
        )

    def _refuse_trees(self, lacks: str) -> NoReturn:
        raise ValueError(
            "drafts that branch need a model that reads a tree by an attention mask, "
            f"got {self._title} with {lacks}"
        )

    def _require_prompt(self, prompt: Sequence[int]) -> None:
        if len(prompt) == 0:
            raise ValueError("a prompt must have at least one token, got none")
        if self.max_prompt is not None and len(prompt) > self.max_prompt:
            raise ValueError(
                f"a prompt must fit the {self.max_prompt} positions of {self.name}, "
                f"got {len(prompt)} tokens"
            )


def forbidden_ids(module: Any, device: torch.device) -> Tensor | None:
    """Returns the ids that a model must not emit, shape (n,), int64; None if there are none.

    The model's settings exclude some, e.g. Marian's padding token, whose logit means nothing.
    Decoders that skip padding when they count positions (M2M100) must not emit padding, either.
    """
    settings = module.generation_config
    ends = settings.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    words = [word[0] for word in settings.bad_words_ids or [] if len(word) == 1]
    ids = [word for word in words if word not in ends] + (settings.suppress_tokens or [])
    skips = (hasattr(part, "create_position_ids_from_input_ids") for part in module.modules())
    if module.config.is_encoder_decoder and any(skips):
        ids.append(module.config.pad_token_id)
    return torch.tensor(sorted(set(ids)), device=device) if ids else None


def is_spread(module: Any) -> bool:
    """Returns whether accelerate has spread a model over several devices."""
    return hasattr(module, "_hf_hook")


def input_device(module: Any) -> torch.device:
    """Returns the device of a model's input ids and of its logits."""
    # A layer that is stored elsewhere and loaded for each pass knows where it runs.
    hook = getattr(module.get_input_embeddings(), "_hf_hook", None) if is_spread(module) else None
    return torch.device(getattr(hook, "execution_device", None) or module.device)


def require_fit(config: Any, name: str) -> None:
    """Refuses a model whose logits differ between a pass over several tokens and single steps."""
    reason = UNFIT.get(config.model_type)
    # NLLB-MoE's capacity is a share of the pass; at 1 no token is dropped.
    share = float(getattr(config, "moe_eval_capacity_token_fraction", 0.0))
    if getattr(config, "expert_capacity", None) is not None and share < 1:
        reason = "its experts have a capacity, beyond which a pass drops tokens that steps keep"
    if reason is not None:
        raise ValueError(
            f"{name} ({config.model_type}) cannot be decoded speculatively: {reason}; choose a "
            "model of another family"
        )


def position_limit(config: Any, names: tuple[str, ...]) -> int | None:
    """Returns the value of the first setting in `names` that is set; None if none is."""
    limits = (getattr(config, name, None) for name in names)
    return next((int(limit) for limit in limits if limit is not None), None)


def rope_switch_length(config: Any) -> int | None:
    """Returns the text length up to which a long-RoPE model uses its short rotary factors.

    None for other models. All positions of a pass use the factors for its last position. So, if a
    text grew across this length, its cache would mix short and long factors (Phi-3, Phi-4 128k).
    """
    parameters = getattr(config, "rope_parameters", None) or {}
    kinds = parameters.values() if "rope_type" not in parameters else [parameters]
    long = [
        rope for rope in kinds if isinstance(rope, dict) and rope.get("rope_type") == "longrope"
    ]
    return min((int(rope["original_max_position_embeddings"]) for rope in long), default=None)
