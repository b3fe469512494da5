"""Counts the weights of a model by kind: looked up, multiplied in every pass, experts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from estimator.model_shapes.storage import LINEAR
from simulator.cost.roofline.shapes import WeightKind

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedConfig, PreTrainedModel

# Names of the number of experts per token in configurations; the first that is set counts.
_ACTIVE = (
    "num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "moe_k",
    "top_k_experts", "top_k", "moe_num_active_experts", "num_selected_experts", "experts_per_token",
)  # fmt: skip
# Parts of the names of modules that mix tokens; all other matrices are feed-forward.
_MIXING = (
    "attn", "attention", "mixer", "mamba", "conv", "ssm", "indexer", "recurrent", "temporal",
    "delta", "retention", "q_proj", "k_proj", "v_proj", "o_proj",
)  # fmt: skip
_ROUTERS = ("gate", "router", "shared_expert_gate")
_ONCE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CountedWeights:
    """Weights of one kind that are stored alike, in any format.

    kind, values, experts, active, held: see simulator.cost.roofline.shapes.Weights.
    quantised: whether a format that quantises only linear layers applies to them.
    """

    kind: WeightKind
    values: int
    quantised: bool
    experts: int
    active: int
    held: bool


def count_weights(
    model: PreTrainedModel,
    config: PreTrainedConfig,
    kept: tuple[str, ...] = (),
    *,
    within: str = "",
    uses: Mapping[str, int] = _ONCE,
) -> tuple[CountedWeights, ...]:
    """Returns the model's weights by kind; a tied output matrix is counted once, as the head.

    A matrix that a pass uses several times is repeated for each further use, marked as not held.

    kept: regular expressions for names of modules that quantisation leaves plain.
    within: prefix of the names to count.
    uses: uses of each matrix per pass, if not one (estimator.model_shapes.meta_pass).
    """
    totals: dict[tuple[WeightKind, bool, int, bool], int] = {}
    for kind, name, parameter, experts in _sorted(model):
        if not name.startswith(within):
            continue
        quantised = _quantised(kind, name, parameter, kept)
        times_used = 1 if experts else uses.get(name, 1)
        for held, times in ((True, 1), (False, times_used - 1)):
            if times > 0 and (held or kind != "embedding"):
                key = (kind, quantised, experts, held)
                totals[key] = totals.get(key, 0) + times * parameter.numel()
    return tuple(
        CountedWeights(
            kind=kind,
            values=values,
            quantised=quantised,
            experts=experts,
            active=_active(config, experts) if experts else 0,
            held=held,
        )
        for (kind, quantised, experts, held), values in totals.items()
    )


def last_layer(model: PreTrainedModel) -> str:
    """Returns the prefix of the names of the last decoder layer's weights."""
    from torch import nn

    lists = [(name, m) for name, m in model.named_modules() if isinstance(m, nn.ModuleList)]
    name, layers = max(lists, key=lambda each: sum(p.numel() for p in each[1].parameters()))
    return f"{name}.{len(layers) - 1}."


def _sorted(model: PreTrainedModel) -> Iterator[tuple[WeightKind, str, Tensor, int]]:
    """Yields kind, name, tensor and number of experts (0: none) of every parameter."""
    from torch import nn

    head: Any = model.get_output_embeddings()
    head_weight = None if head is None else getattr(head, "weight", None)
    lookups = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    modules = dict(model.named_modules())
    for name, parameter in model.named_parameters():
        parts = name.split(".")
        experts = _experts(parts, parameter, modules)
        kind: WeightKind
        if parameter is head_weight:
            kind = "head"
        elif id(parameter) in lookups:
            kind = "embedding"
        elif experts:
            kind = "experts"
        elif parameter.dim() < 2:
            kind = "other"
        elif any(word in part.lower() for part in parts for word in _MIXING):
            kind = "attention"
        else:
            kind = "feed-forward"
        yield kind, name, parameter, experts


def _experts(parts: list[str], parameter: Tensor, modules: dict[str, nn.Module]) -> int:
    """Returns the number of routed experts that a parameter belongs to; 0 for none."""
    from torch import nn

    for i, part in enumerate(parts[:-1]):
        if part.lower() in ("experts", "moe_experts") and "shared" not in ".".join(parts[:i]):
            owner = modules[".".join(parts[: i + 1])]
            if isinstance(owner, nn.ModuleList) or parts[i + 1].isdecimal():
                return sum(child.isdecimal() for child, _ in owner.named_children())
            return _stacked(owner, parameter)
    owner = modules[".".join(parts[:-1])]
    if "Experts" in type(owner).__name__:
        return _stacked(owner, parameter)
    return 0


def _stacked(owner: nn.Module, parameter: Tensor) -> int:
    """Returns the number of experts whose weights are stacked in one tensor."""
    for name in ("num_experts", "moe_num_experts", "num_local_experts"):
        count = getattr(owner, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return parameter.shape[0] if parameter.dim() >= 2 else 0


def _quantised(kind: WeightKind, name: str, parameter: Tensor, kept: tuple[str, ...]) -> bool:
    module = name.rpartition(".")[0]
    router = module.rpartition(".")[2] in _ROUTERS
    matrix = parameter.dim() >= 2 and "conv" not in module and not router
    if kind not in LINEAR or not matrix:
        return False
    # An expert's parameters are in modules of its own or bare tensors: both names are checked.
    return not any(re.search(each, tried) for each in kept for tried in (name, module))


def _active(config: PreTrainedConfig, experts: int) -> int:
    for name in _ACTIVE:
        value = getattr(config, name, None)
        if isinstance(value, (list, tuple)):
            value = max(value)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return min(value, experts)
    nested = getattr(config, "ffn_config", None)
    if nested is not None:
        return _active(nested, experts)
    raise ValueError(
        f"config.json must say how many of {experts} experts a token is sent to "
        f"({_ACTIVE[0]} or the like), got no such field"
    )
