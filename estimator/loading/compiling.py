"""Models with compiled passes, where a user asks for them."""

from __future__ import annotations

from collections.abc import Sequence

from estimator.progress import notice
from reference.models.cached_model import CachedModel
from reference.models.causal_model import CausalModel
from reference.models.compiled_model import CompiledModel, CompileError

# A draft reads one token a step, two after its whole draft was accepted.
DRAFT_WIDTHS = (1, 2)


def with_passes(
    model: CachedModel, compiling: str, *, longest: int, widths: Sequence[int]
) -> CachedModel:
    """Returns a model whose passes are compiled as far as the user wants them to be.

    Args:
      compiling: "off"; "on"; or "try": as it is where compiling fails, which a notice says.
      longest: tokens of the longest text.

    Raises:
      ValueError: if compiling is "on" and fails, or the model cannot be compiled.
    """
    if compiling == "off":
        return model
    try:
        if not isinstance(model, CausalModel):
            raise CompileError(
                f"compile needs a decoder-only model, got {model.name} ({model.kind})"
            )
        return CompiledModel(model, longest=longest, widths=widths)
    except CompileError as error:
        if compiling == "on":
            raise ValueError(f"{error}; --compile try goes on without") from error
        notice(f"{error}; it runs uncompiled")
        return model
