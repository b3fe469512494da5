"""A model whose short passes are compiled: fixed shapes over a cache that never moves.

`torch.compile` makes a program for each shape, so a cache of a fixed size takes the place of one
that grows, and a pass of a width for which there is no program is padded to the next that has one.
What is padded, or rolled back, lies beyond the cache's length and is overwritten; attention sees
nothing there. On CUDA the programs are replayed as graphs.
"""

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, StaticCache

from reference.models.huggingface import CausalModel

# Each width is a program of its own, and two models share the code that they are made of.
MOST_PROGRAMS = 256


class CompileError(ValueError):
    """A model could not be compiled."""


class CompiledModel(CausalModel):
    """A decoder-only model with compiled passes behind the `Model` protocol.

    Prompts and passes wider than every program run as they are. It keeps no states and reads no
    tokens that branch.
    """

    def __init__(
        self,
        model: CausalModel,
        *,
        longest: int,
        widths: Sequence[int],
        backend: str | Callable[..., Any] = "inductor",
    ) -> None:
        """Compiles a model's passes, and runs each once.

        Args:
          model: its module is taken over; model is not to be used any more.
          longest: tokens of the longest text, prompt included.
          widths: of the passes to compile, at least 1 each.
          backend: of `torch.compile`.

        Raises:
          CompileError: if compiling fails, saying why.
          ValueError: if a layer of the model does not see the whole text.
        """
        self._widths = sorted(set(widths))
        self._capacity = longest + max(self._widths)
        self._static: StaticCache | None = None
        super().__init__(model.module, model.name)
        if self._windowed:
            raise ValueError(
                f"compile needs a model whose layers all see the whole text, got {self.name} "
                f"({self.module.config.model_type}) with sliding windows"
            )
        head = self.module.get_output_embeddings()
        if head is not None:
            head._forward_pre_hooks.clear()   # what listens there would end up in the programs
        cuda = self.device.type == "cuda"
        self._step = torch.compile(
            self._pass, backend=backend, dynamic=False, mode="reduce-overhead" if cuda else None
        )
        self._static = StaticCache(config=self.module.config, max_cache_len=self._capacity)
        self._cache = self._static
        self._prepare()

    @torch.inference_mode()
    def _prepare(self) -> None:
        """Runs a pass of every width, and forgets them."""
        self._pass(*self._inputs(torch.zeros(1, dtype=torch.int64, device=self.device), 1))
        try:
            with torch._dynamo.config.patch(
                recompile_limit=MOST_PROGRAMS, fail_on_recompile_limit_hit=True
            ):
                for width in self._widths:
                    tokens = torch.zeros(width, dtype=torch.int64, device=self.device)
                    for _ in range(3 if self.device.type == "cuda" else 1):   # to be recorded
                        self._forget()
                        self._step(*self._inputs(tokens, width))
        except Exception as error:
            reason = textwrap.shorten(str(error), 200)
            raise CompileError(
                f"compiling {self.name} failed: {type(error).__name__}: {reason}"
            ) from error
        self._forget()

    def _forget(self) -> None:
        self._set_length(0)
        self._length = 0

    def _empty_cache(self) -> Cache:
        if self._static is None:   # asked first whether the model's cache rolls back at all
            return super()._empty_cache()
        self._set_length(0)
        return self._static

    def _set_length(self, length: int) -> None:
        for layer in self._cache.layers:
            layer.cumulative_length.fill_(length)

    def _pass(self, ids: Tensor, positions: Tensor) -> Tensor:
        output: Any = self.module(
            input_ids=ids, position_ids=positions, past_key_values=self._cache, use_cache=True
        )
        logits: Tensor = output.logits[0]
        return logits

    def _inputs(self, tokens: Tensor, width: int) -> tuple[Tensor, Tensor]:
        ids = torch.nn.functional.pad(tokens, (0, width - len(tokens)))
        end = self._length + width
        return ids[None], torch.arange(self._length, end, device=self.device)[None]

    def _forward(
        self, tokens: Tensor, logits_to_keep: int, parents: Sequence[int] | None = None
    ) -> Tensor:
        if parents is not None:
            raise ValueError(
                f"drafts that branch need a model that is not compiled, got {self.name}"
            )
        count = len(tokens)
        width = next((each for each in self._widths if each >= count), None)
        limit = self._capacity if self.max_length is None else min(self._capacity, self.max_length)
        if self._length + count > self._capacity:
            raise ValueError(
                f"a text must fit the {self._capacity} positions that {self.name} was compiled "
                f"for, got {self._length + count}"
            )
        if logits_to_keep or width is None or self._length + width > limit:
            return self._pass(*self._inputs(tokens, count))
        if self.device.type == "cuda":
            torch.compiler.cudagraph_mark_step_begin()
        logits: Tensor = self._step(*self._inputs(tokens, width))[:count]
        if width > count:
            self._set_length(self._length + count)
        # The next replay of a graph writes where this one wrote.
        return logits.clone() if self.device.type == "cuda" else logits

    @torch.inference_mode()
    def rollback(self, length: int) -> None:
        if not 0 <= length <= self._length:
            raise ValueError(f"length must lie in [0, {self._length}], got {length}")
        if length < self._length:
            self._set_length(length)
            self._length = length
