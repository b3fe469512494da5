"""A model with compiled short passes: fixed shapes over a cache that never moves.

`torch.compile` makes one program for each shape. So the cache has a fixed size, and a pass is
padded to the next width that has a program. Attention does not read what lies beyond the cache's
length, and later passes overwrite it. On CUDA the programs are replayed as graphs.
"""

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, StaticCache
from transformers.cache_utils import DummyLayer, StaticLayer

from reference.models.architectures import CausalModel

# Each width needs a program, and target and draft share the compiled code object.
MOST_PROGRAMS = 256


class CompileError(ValueError):
    """Raised if a model cannot be compiled."""


class CompiledModel(CausalModel):
    """A decoder-only model with compiled passes; it provides no hidden states and reads no trees.

    Prompts, and passes over more tokens than the widest compiled pass, run uncompiled.
    """

    def __init__(
        self,
        model: CausalModel,
        *,
        longest: int,
        widths: Sequence[int],
        backend: str | Callable[..., Any] = "inductor",
    ) -> None:
        """Compiles a model's passes and runs each pass; from then on, `model.state` returns None.

        longest: number of tokens in the longest text, prompt included.
        widths: for each pass to compile, its number of tokens, at least 1.
        """
        self._widths = sorted(set(widths))
        self._capacity = longest + max(self._widths)
        self._fixed: Cache | None = None
        super().__init__(model.module, model.name)
        head = self.module.get_output_embeddings()
        if head is not None:
            head._forward_pre_hooks.clear()  # hooks would become part of the programs
        # The position at which a pass begins: a program's only input apart from the tokens.
        self._begin = torch.zeros((), dtype=torch.int64, device=self.device)
        self._fixed = self._cache = self._fixed_cache()
        self._programs: dict[int, Callable[[Tensor], Tensor]] = {}
        self._prepare(backend)

    def _fixed_cache(self) -> Cache:
        cache = StaticCache(config=self.module.config, max_cache_len=self._capacity)
        others = [layer for layer in cache.layers if type(layer) not in (StaticLayer, DummyLayer)]
        if others:
            layers = "sliding windows" if self._windowed else type(others[0]).__name__
            raise ValueError(
                f"compile needs a model whose layers all see the whole text, got {self._title} "
                f"with {layers}"
            )
        cache.layers = [
            FixedLayer(self._capacity, self._begin) if type(layer) is StaticLayer else layer
            for layer in cache.layers
        ]
        return cache

    @torch.inference_mode()
    def _prepare(self, backend: str | Callable[..., Any]) -> None:
        """Compiles and runs a program for each width; what they cache is overwritten later."""
        cuda = self.device.type == "cuda"
        try:
            self._pass(torch.zeros(1, dtype=torch.int64, device=self.device))
            with torch._dynamo.config.patch(
                recompile_limit=MOST_PROGRAMS, fail_on_recompile_limit_hit=True
            ):
                for width in self._widths:
                    program: Any = torch.compile(self._pass, **settings(backend, graphs=cuda))
                    tokens = torch.zeros(width, dtype=torch.int64, device=self.device)
                    for _ in range(3 if cuda else 1):  # CUDA graphs are recorded on a later run
                        program(tokens)
                    self._programs[width] = program
        except Exception as error:
            reason = textwrap.shorten(str(error), 200)
            raise CompileError(
                f"compiling {self.name} failed: {type(error).__name__}: {reason}"
            ) from error

    def _empty_cache(self) -> Cache:
        # On the first call this checks whether the model's own cache can be rolled back.
        return super()._empty_cache() if self._fixed is None else self._fixed

    def _pass(self, tokens: Tensor, logits_to_keep: int = 0) -> Tensor:
        positions = torch.arange(len(tokens), device=tokens.device) + self._begin
        return self._run(tokens, logits_to_keep, positions)

    def _logits(
        self, tokens: Tensor, parents: Sequence[int] | None, logits_to_keep: int = 0
    ) -> Tensor:
        if parents is not None:
            raise ValueError(
                f"drafts that branch need a model that is not compiled, got {self.name}"
            )
        count = tokens.shape[0]
        if self.length + count > self._capacity:
            raise ValueError(
                f"a text must fit the {self._capacity} positions that {self.name} was compiled "
                f"for, got {self.length + count}"
            )
        width = next((width for width in self._widths if width >= count), None)
        limit = self._capacity if self.max_length is None else min(self._capacity, self.max_length)
        self._begin.fill_(self.length)
        if logits_to_keep or width is None or self.length + width > limit:
            return self._pass(tokens, logits_to_keep)
        if self.device.type == "cuda":
            torch.compiler.cudagraph_mark_step_begin()
        if width > count:
            tokens = torch.nn.functional.pad(tokens, (0, width - count))
        logits: Tensor = self._programs[width](tokens)[:count]
        # The next replay of a graph writes into the same memory.
        return logits.clone() if self.device.type == "cuda" else logits

    def rollback(self, length: int) -> None:
        self._require_length(length)
        self.length = length


def settings(backend: str | Callable[..., Any], *, graphs: bool) -> dict[str, Any]:
    """Returns the arguments of `torch.compile` for one program.

    Every call of the program has inputs of one shape, so the program skips `torch.compile`'s checks
    of its inputs (guards). These would take a good part of a small model's time.

    graphs: whether the program is recorded as a CUDA graph.
    """
    options: dict[str, Any] = {"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}
    if backend == "inductor":
        options |= {"size_asserts": False, "alignment_asserts": False}
    if graphs:
        options["triton.cudagraphs"] = True
    return {"backend": backend, "dynamic": False, "isolate_recompiles": True, "options": options}


class FixedLayer(StaticLayer):  # type: ignore[misc]
    """Keys and values in tensors of fixed size and address; attention masks the unused part.

    All layers share `length`, the number of tokens before a pass, shape (), int64. With one number
    per layer, as in transformers, every pass and rollback would have to update each layer.
    """

    def __init__(self, capacity: int, length: Tensor) -> None:
        super().__init__(capacity)
        self.cumulative_length = length

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        positions = torch.arange(key_states.shape[-2], device=self.device) + self.cumulative_length
        self.keys.index_copy_(2, positions, key_states)
        self.values.index_copy_(2, positions, value_states)
        return self.keys, self.values
