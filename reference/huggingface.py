"""Hugging Face models, tokenizers and devices: the one file that knows them."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, DynamicCache

from reference.stopwatch import Stopwatch

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class CausalModel:
    """A decoder-only transformers model behind the `Model` protocol."""

    def __init__(self, module: Any, name: str) -> None:
        """Wraps a loaded model.

        Args:
          module: a `PreTrainedModel` for causal language modelling.
          name: for messages and reports.

        Raises:
          ValueError: if its cache cannot be rolled back (recurrent state).
        """
        self.module = module.eval()
        self.name = name
        config = module.config.get_text_config(decoder=True)
        self.vocabulary: int = config.vocab_size
        self.device: torch.device = module.device
        self.max_length: int | None = getattr(config, "max_position_embeddings", None)
        self._stopwatch = Stopwatch(self.device)
        self._cache = self._empty_cache()
        self._length = 0

    def _empty_cache(self) -> DynamicCache:
        cache = DynamicCache(config=self.module.config)
        if getattr(self.module, "_is_stateful", False) or not cache.is_croppable:
            raise ValueError(
                f"the cache of {self.name} ({self.module.config.model_type}) cannot be rolled "
                "back, which speculative decoding needs; choose a model of attention layers alone"
            )
        # A sliding window must remember what a rollback may bring back into it.
        cache.activate_past_recording()
        return cache

    @property
    def length(self) -> int:
        return self._length

    @property
    def forward_seconds(self) -> float:
        return self._stopwatch.seconds

    def start(self, prompt: Sequence[int]) -> list[int]:
        require_prompt(prompt, self.name, self.max_length)
        self._cache = self._empty_cache()
        self._length = 0
        if len(prompt) > 1:
            self._forward(torch.tensor(prompt[:-1], device=self.device), logits_to_keep=1)
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return list(prompt)

    def extend(self, tokens: Tensor) -> Tensor:
        return self._forward(tokens, logits_to_keep=0)

    @torch.inference_mode()
    def _forward(self, tokens: Tensor, logits_to_keep: int) -> Tensor:
        """Returns the last logits_to_keep rows, all for 0, and appends tokens to the cache."""
        with self._stopwatch:
            output = self.module(
                input_ids=tokens[None],
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=logits_to_keep,
            )
        self._length += len(tokens)
        logits: Tensor = output.logits[0]
        return logits

    def rollback(self, length: int) -> None:
        drop = self._length - length
        if not 0 <= drop <= self._length:
            raise ValueError(f"length must lie in [0, {self._length}], got {length}")
        if drop > 0:
            # Negative: how many to remove. Without the guard, 0 would mean "all" to a slice.
            self._cache.crop(-drop)
            self._length = length


def require_prompt(prompt: Sequence[int], name: str, max_length: int | None) -> None:
    """Refuses a prompt that is empty or longer than a model's positions."""
    if len(prompt) == 0:
        raise ValueError("a prompt must have at least one token, got none")
    if max_length is not None and len(prompt) > max_length:
        raise ValueError(
            f"a prompt must fit the {max_length} positions of {name}, got {len(prompt)} tokens"
        )


def resolve_device(device: str) -> torch.device:
    """Returns the device that "auto", "cpu" or "cuda" stands for.

    Raises:
      ValueError: if it is "cuda" and there is none.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device must be one that this machine has, got cuda without a CUDA device")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)


def load_model(
    name: str,
    *,
    device: torch.device,
    dtype: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> CausalModel:
    """Returns the model of a Hugging Face name or folder; weights from safetensors alone.

    Args:
      name: hub name, or a folder with config.json.
      device: where it will run.
      dtype: "float32", "bfloat16", "float16", or "auto": float32 on a CPU, the checkpoint's own
        elsewhere.
      revision: of the hub's repository.
      trust_remote_code: whether code from the repository may run.

    Raises:
      ValueError: if it cannot be loaded, or its cache cannot be rolled back.
    """
    chosen: Any = DTYPES.get(dtype, torch.float32 if device.type == "cpu" else "auto")
    try:
        config = AutoConfig.from_pretrained(
            name, revision=revision, trust_remote_code=trust_remote_code
        )
        module = AutoModelForCausalLM.from_pretrained(
            name,
            config=config,
            revision=revision,
            dtype=chosen,
            use_safetensors=True,
            trust_remote_code=trust_remote_code,
        )
    except (OSError, ValueError) as error:
        raise ValueError(f"model {name!r} could not be loaded: {first_line(error)}") from error
    return CausalModel(module.to(device), name)


def load_tokenizer(
    name: str, *, revision: str | None = None, trust_remote_code: bool = False
) -> Any:
    """Returns the tokenizer of a Hugging Face name or folder.

    Raises:
      ValueError: if there is none.
    """
    try:
        return AutoTokenizer.from_pretrained(
            name, revision=revision, trust_remote_code=trust_remote_code
        )
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"tokenizer {name!r} could not be loaded: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message."""
    return str(error).strip().partition("\n")[0]


def require_same_tokenizer(target: Any, draft: Any, *, target_name: str, draft_name: str) -> None:
    """Refuses a pair whose tokenizers differ; rows may be padded to different widths.

    Raises:
      ValueError: naming both models.
    """
    if target.get_vocab() != draft.get_vocab():
        raise ValueError(
            f"target and draft must share one tokenizer, got {target_name} with {len(target)} "
            f"tokens and {draft_name} with {len(draft)}"
        )


def end_ids(module: Any, tokenizer: Any) -> frozenset[int]:
    """Returns a model's end-of-text ids; its configuration gives none, one or a list."""
    ids = module.generation_config.eos_token_id
    if ids is None:
        ids = tokenizer.eos_token_id
    if ids is None:
        return frozenset()
    return frozenset([ids] if isinstance(ids, int) else ids)
