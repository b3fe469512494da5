"""The model protocol: what decoding needs of a language model, and nothing else."""

import math
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor


class Model(Protocol):
    """An autoregressive model with a cache that grows by tokens and rolls back to a length.

    A decoder-only model's text begins with its prompt; an encoder-decoder's with the decoder's
    start token, the prompt going to the encoder. Decoding sees no difference.
    """

    @property
    def name(self) -> str:
        """What error messages and reports call this model."""

    @property
    def vocabulary(self) -> int:
        """Width of a row of logits."""

    @property
    def device(self) -> torch.device:
        """Where tokens are expected and logits lie."""

    @property
    def max_length(self) -> int | None:
        """The most positions a text may have; None: no limit."""

    @property
    def turning_length(self) -> int | None:
        """A length that no text may grow across, as the model's positions turn otherwise beyond it.

        A text whose prompt is longer is fine; None: there is none.
        """

    @property
    def length(self) -> int:
        """How many tokens of the text the cache holds."""

    @property
    def forward_seconds(self) -> float:
        """Seconds spent inside the model's forward passes so far."""

    def beginning(self, prompt: Sequence[int]) -> list[int]:
        """Returns the text to continue after a prompt; computes nothing.

        Raises:
          ValueError: if the prompt is empty or longer than the model's positions.
        """

    def start(self, prompt: Sequence[int]) -> list[int]:
        """Returns the text to continue; the cache then holds all of it but the last token.

        Raises:
          ValueError: as `beginning`.
        """

    def extend(self, tokens: Tensor, parents: Sequence[int] | None = None) -> Tensor:
        """Appends tokens to the cache and returns the logits after each of them.

        Args:
          tokens: shape (n,), int64, n >= 1.
          parents: which of tokens each one follows, an earlier one; -1: the cache's last. None:
            each follows the one before it. After a pass that branches, `keep` must come next.

        Returns:
          shape (n, vocabulary).
        """

    def state(self, position: int) -> Tensor | None:
        """Returns what the output embedding read at a position of the text, shape (width,).

        It is there for the positions of the cache, those of the prompt before its last but one
        excepted, at no further pass: heads on the model draft from it. None elsewhere.
        """

    def keep(self, length: int, places: Sequence[int]) -> None:
        """Keeps the first `length` tokens of the cache and, of the others, those at some places.

        Args:
          length: at most the cache's.
          places: ascending, counted from length; each token must follow the one before it.
        """

    def rollback(self, length: int) -> None:
        """Drops all but the first `length` tokens from the cache; a longer length is an error."""


def text_limit(model: Model, given: int) -> int | None:
    """Returns the most positions that a text may have; None: no limit.

    Args:
      given: ids that the text begins with; all but the last are fed in one pass.
    """
    turn = model.turning_length
    if turn is None or given - 1 > turn:
        return model.max_length
    return turn if model.max_length is None else min(turn, model.max_length)


def positions_of(model: Model, limit: int, role: str = "") -> str:
    """Returns what a message calls the positions that a text does not fit."""
    if limit == model.turning_length:
        return (
            f"{limit} positions up to which {role}{model.name} keeps its short rotary factors, or "
            "begin beyond them"
        )
    return f"{limit} positions of {role}{model.name}"


def peaks(logits: Tensor) -> Tensor:
    """Returns each row's largest logit, shape (positions,).

    A law can be made of a row exactly where it is finite: it is not if the row has NaN, +inf or
    nothing but -inf; some -inf (impossible tokens) are fine.
    """
    return logits.amax(dim=-1)  # propagates NaN


def require_finite(witness: Sequence[float], name: str, first_position: int) -> None:
    """Stops a run whose model returns logits that no law can be made of.

    Args:
      witness: the `peaks` of consecutive positions, or what else is finite exactly where they are.
      first_position: index in the text of the token that the first row predicts.

    Raises:
      FloatingPointError: naming model and position.
    """
    for offset, number in enumerate(witness):
        if not math.isfinite(number):
            raise FloatingPointError(
                f"{name} returned NaN or infinite logits at position {first_position + offset}"
            )
