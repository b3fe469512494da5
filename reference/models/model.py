"""The model protocol: everything that decoding needs of a language model."""

import math
import time
from collections.abc import Sequence
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn


class Model(Protocol):
    """An autoregressive model whose cache grows by tokens and rolls back to a length.

    The text of a decoder-only model begins with its prompt. The text of an encoder-decoder model
    begins with the decoder's start token; its encoder reads the prompt. Decoding treats both alike.

    vocabulary: number of logits at each position.
    device: place of input tokens and logits.
    max_length: most positions of a text; None: no limit.
    rope_switch_length: length at which the model switches RoPE scaling; None if it does not. A text
      must not grow across this length, but its prompt may be longer.

    Example: a model that counts upwards, and remembers nothing but the length of its text.

      >>> class Counting(Model):
      ...     name, vocabulary, device = "counting", 4, torch.device("cpu")
      ...     max_length, rope_switch_length, length, forward_seconds = None, None, 0, 0.0
      ...     def beginning(self, prompt):
      ...         return list(prompt)
      ...     def start(self, prompt):
      ...         self.length = len(prompt) - 1
      ...         return list(prompt)
      ...     def extend(self, tokens, parents=None):
      ...         self.length += len(tokens)
      ...         return torch.eye(4)[(tokens + 1) % 4]
      ...     def rollback(self, length):
      ...         self.length = length
      >>> model = Counting()
      >>> model.extend(torch.tensor(model.start([0, 1])[-1:])).argmax(dim=-1)
      tensor([2])
    """

    name: str
    vocabulary: int
    device: torch.device
    max_length: int | None
    rope_switch_length: int | None

    @property
    def length(self) -> int:
        """Number of tokens in the cache."""

    @property
    def forward_seconds(self) -> float:
        """Seconds spent in the model's forward passes so far."""

    def beginning(self, prompt: Sequence[int]) -> list[int]:
        """Returns the ids that decoding will continue; refuses an empty or too long prompt."""

    def start(self, prompt: Sequence[int]) -> list[int]:
        """Reads the prompt and caches all ids of `beginning` except the last; returns these ids."""

    def extend(self, tokens: Tensor, parents: Sequence[int] | None = None) -> Tensor:
        """Appends tokens to the cache; returns the logits after each, shape (n, vocabulary).

        tokens: shape (n,), int64, n >= 1.
        parents: for each token, the index of the token that it follows; -1: the cache's last
          token. None: each follows the previous one. After a pass that branches, `keep` must be
          called next.
        """

    def state(self, position: int) -> Tensor | None:
        """Returns the hidden state that the output embedding reads at a position, shape (width,).

        None if the position is not in the cache, or comes before the last two of a prompt.
        """

    def keep(self, length: int, places: Sequence[int]) -> None:
        """Keeps the first `length` tokens of the cache, and some of the tokens after them.

        places: positions of the tokens to keep, counted from `length`, ascending; each must follow
          the previously kept token.
        """

    def rollback(self, length: int) -> None:
        """Keeps only the first `length` tokens of the cache; ValueError if the cache has fewer."""


def text_limit(model: Model, given: int) -> int | None:
    """Returns the largest length to which a text of `given` ids may grow; None: no limit."""
    switch = model.rope_switch_length
    limits = [model.max_length, None if switch is None or given - 1 > switch else switch]
    return min((limit for limit in limits if limit is not None), default=None)


def positions_of(model: Model, limit: int, role: str = "") -> str:
    """Returns words for an error message that describe a limit returned by `text_limit`."""
    if limit == model.rope_switch_length:
        return (
            f"{limit} positions up to which {role}{model.name} keeps its short rotary factors, or "
            "begin beyond them"
        )
    return f"{limit} positions of {role}{model.name}"


class FittedModel:
    """A draft model whose logits are fitted to the width of the target's vocabulary.

    Models of one family may pad their logits to different widths. Ids that the draft lacks get
    logit -inf; ids beyond the target's are cut off. If the target emits an id that the draft lacks,
    the draft reads its own last id instead.
    """

    def __init__(self, model: Model, vocabulary: int) -> None:
        self.model = model
        self.vocabulary = vocabulary

    def __getattr__(self, name: str) -> Any:
        # Copying looks up special methods before the copy has a model.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.model, name)

    def start(self, prompt: Sequence[int]) -> list[int]:
        self.model.start([min(token, self.model.vocabulary - 1) for token in prompt])
        return self.model.beginning(prompt)

    def extend(self, tokens: Tensor, parents: Sequence[int] | None = None) -> Tensor:
        logits = self.model.extend(tokens.clamp(max=self.model.vocabulary - 1), parents)
        missing = self.vocabulary - logits.shape[-1]
        if missing > 0:
            return nn.functional.pad(logits, (0, missing), value=-torch.inf)
        return logits[:, : self.vocabulary]


def fitted(model: Model, vocabulary: int) -> Model:
    """Returns the model with logits of this width; the model itself if they already have it."""
    fits = model.vocabulary == vocabulary
    return model if fits else cast(Model, FittedModel(model, vocabulary))


def peaks(logits: Tensor) -> Tensor:
    """Returns each row's largest logit: finite if and only if the row gives a distribution."""
    return logits.amax(dim=-1)  # propagates NaN


def transfer(ids: Tensor, witness: Tensor) -> tuple[list[int], list[float]]:
    """Returns ids and the numbers of `require_finite`, by a single transfer from their device."""
    # Ids are exact in double precision.
    numbers = torch.cat([ids.double(), witness.double()]).tolist()
    count = ids.shape[0]
    return list(map(int, numbers[:count])), numbers[count:]


def require_finite(witness: Sequence[float], name: str, first_position: int) -> None:
    """Raises FloatingPointError if a model's logits give no distribution at some position.

    witness: one number per position, NaN or infinite if the logits there are unusable (`peaks`).
    first_position: index in the text of the token that the first logits predict.
    """
    for position, number in enumerate(witness, start=first_position):
        if not math.isfinite(number):
            raise FloatingPointError(
                f"{name} returned NaN or infinite logits at position {position}"
            )


class Stopwatch:
    """Adds up the seconds spent inside `with stopwatch:`; on CUDA, events measure them."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._cuda = device.type == "cuda"
        self._seconds = 0.0
        self._began = 0.0
        self._pending: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> "Stopwatch":
        return Stopwatch(self._device)  # a copy counts its own passes, from 0

    def __enter__(self) -> None:
        if self._cuda:
            pair = (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
            self._pending.append(pair)
            pair[0].record(torch.cuda.current_stream(self._device))
        else:
            self._began = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        if self._cuda:
            self._pending[-1][1].record(torch.cuda.current_stream(self._device))
        else:
            self._seconds += time.perf_counter() - self._began

    @property
    def seconds(self) -> float:
        """Seconds spent inside `with stopwatch:` so far; on CUDA, waits until this work is done."""
        for start, end in self._pending:
            end.synchronize()
            self._seconds += start.elapsed_time(end) / 1e3
        self._pending.clear()
        return self._seconds
