"""What transformers models of every kind share: a decoder whose cache grows and rolls back."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

import torch
from torch import Tensor
from transformers import Cache

from reference.models.states import States
from reference.models.stopwatch import Stopwatch


class CachedModel(ABC):
    """A transformers model behind the `Model` protocol; what its prompt becomes is a subclass's."""

    kind: ClassVar[str]

    def __init__(self, module: Any, name: str) -> None:
        """Wraps a loaded model.

        Args:
          module: a `PreTrainedModel` with a language-modelling head.
          name: for messages and reports.

        Raises:
          ValueError: if it keeps no cache, or one that cannot be rolled back (recurrent state).
        """
        self.module = module.eval()
        self.name = name
        config = module.config.get_text_config(decoder=True)
        self.vocabulary: int = config.vocab_size
        self.device: torch.device = module.device
        self.max_length: int | None = getattr(config, "max_position_embeddings", None)
        if module._is_stateful or not module._supports_default_dynamic_cache():
            self._refuse()
        if "past_key_values" not in inspect.signature(module.forward).parameters:
            raise ValueError(
                f"{name} ({module.config.model_type}) keeps no cache of keys and values, which "
                "decoding needs"
            )
        self._forbidden = forbidden_ids(module.generation_config, self.device)
        self._states = States(module)
        self._stopwatch = Stopwatch(self.device)
        self._cache = self._empty_cache()
        self._length = 0

    @abstractmethod
    def _empty_cache(self) -> Cache:
        """Returns a cache of no tokens, which any rollback leaves exact."""

    @abstractmethod
    def beginning(self, prompt: Sequence[int]) -> list[int]:
        """Returns the text to continue, nothing computed (see `reference.models.model.Model`)."""

    @abstractmethod
    def start(self, prompt: Sequence[int]) -> list[int]:
        """Returns the text to continue (see `reference.models.model.Model`)."""

    @abstractmethod
    def _logits(self, tokens: Tensor) -> Tensor:
        """Returns the logits after each of tokens, which the cache takes in."""

    @property
    def length(self) -> int:
        return self._length

    @property
    def forward_seconds(self) -> float:
        return self._stopwatch.seconds

    @torch.inference_mode()
    def extend(self, tokens: Tensor) -> Tensor:
        with self._stopwatch:
            logits = self._logits(tokens)
        self._length += len(tokens)
        self._states.keep(self._length)
        if self._forbidden is None:
            return logits
        return logits.index_fill(-1, self._forbidden, -torch.inf)

    def state(self, position: int) -> Tensor | None:
        return self._states.at(position)

    def rollback(self, length: int) -> None:
        drop = self._length - length
        if not 0 <= drop <= self._length:
            raise ValueError(f"length must lie in [0, {self._length}], got {length}")
        if drop > 0:
            # Negative: how many to remove. Without the guard, 0 would mean "all" to a slice.
            self._cache.crop(-drop)
            self._length = length
            self._states.cut(length)

    def _refuse(self) -> NoReturn:
        raise ValueError(
            f"the cache of {self.name} ({self.module.config.model_type}) cannot be rolled back, "
            "which speculative decoding needs; choose a model of attention layers alone"
        )

    def _require_prompt(self, prompt: Sequence[int]) -> None:
        """Refuses a prompt that is empty or longer than the model's positions."""
        if len(prompt) == 0:
            raise ValueError("a prompt must have at least one token, got none")
        if self.max_length is not None and len(prompt) > self.max_length:
            raise ValueError(
                f"a prompt must fit the {self.max_length} positions of {self.name}, "
                f"got {len(prompt)} tokens"
            )


def forbidden_ids(generation_config: Any, device: torch.device) -> Tensor | None:
    """Returns the ids that a model's own settings exclude, shape (n,), int64; None if none.

    Marian models, for one, must never emit their padding token, whose logit means nothing.
    """
    ends = generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    words = generation_config.bad_words_ids
    ids = [word[0] for word in words or [] if len(word) == 1 and word[0] not in ends]
    ids += generation_config.suppress_tokens or []
    return torch.tensor(sorted(set(ids)), device=device) if ids else None
