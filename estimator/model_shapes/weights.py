"""Counts the weights of a model by kind: looked up, multiplied in every pass, experts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from estimator.model_shapes.storage import LINEAR, Storage
from simulator.cost.roofline.number_formats import NumberFormat
from simulator.cost.roofline.shapes import WeightKind, Weights

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
    uses: Mapping[str, int] = MappingProxyType({}),
) -> tuple[CountedWeights, ...]:
    """Returns the model's weights by kind; a tied output matrix is counted once, as the head.

    A matrix that a pass uses several times is repeated for each further use, marked as not held.

    kept: regular expressions for names of modules that quantisation leaves plain.
    within: prefix of the names to count.
    uses: uses of each matrix per pass, if not one (estimator.model_shapes.meta_pass).
    """
    totals: Counter[CountedWeights] = Counter()
    for kind, name, parameter, experts in _sorted(model):
        if name.startswith(within):
            quantised = _quantised(kind, name, parameter, kept)
            active = _active(config, experts) if experts else 0
            alike = CountedWeights(kind, 0, quantised, experts, active, held=True)
            totals[alike] += parameter.numel()
            again = 0 if experts or kind == "embedding" else uses.get(name, 1) - 1
            if again > 0:
                totals[replace(alike, held=False)] += again * parameter.numel()
    return tuple(replace(alike, values=values) for alike, values in totals.items())


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
    for i, part in enumerate(parts[:-1]):
        if part.lower() in ("experts", "moe_experts") and "shared" not in ".".join(parts[:i]):
            owner = modules[".".join(parts[: i + 1])]
            if parts[i + 1].isdecimal():
                return sum(child.isdecimal() for child, _ in owner.named_children())
            return _stacked(owner, parameter)
    owner = modules[".".join(parts[:-1])]
    return _stacked(owner, parameter) if "Experts" in type(owner).__name__ else 0


def _stacked(owner: nn.Module, parameter: Tensor) -> int:
    """Returns the number of experts whose weights are stacked in one tensor."""
    stacked = parameter.shape[0] if parameter.dim() >= 2 else 0
    names = ("num_experts", "moe_num_experts", "num_local_experts")
    return first_size(getattr(owner, name, None) for name in names) or stacked


def _quantised(kind: WeightKind, name: str, parameter: Tensor, kept: tuple[str, ...]) -> bool:
    module = name.rpartition(".")[0]
    router = module.rpartition(".")[2] in _ROUTERS
    matrix = parameter.dim() >= 2 and "conv" not in module and not router
    if kind not in LINEAR or not matrix:
        return False
    # An expert's parameters are in modules of its own or bare tensors: both names are checked.
    return not any(re.search(each, tried) for each in kept for tried in (name, module))


def _active(config: PreTrainedConfig, experts: int) -> int:
    stated = (getattr(config, name, None) for name in _ACTIVE)
    active = first_size(max(each) if isinstance(each, (list, tuple)) else each for each in stated)
    if active is not None:
        return min(active, experts)
    nested = getattr(config, "ffn_config", None)
    if nested is not None:
        return _active(nested, experts)
    raise ValueError(
        f"config.json must say how many of {experts} experts a token is sent to "
        f"({_ACTIVE[0]} or the like), got no such field"
    )


def first_size(values: Iterable[Any]) -> int | None:
    """Returns the first positive integer."""
    sizes = (each for each in values if isinstance(each, int) and not isinstance(each, bool))
    return next((size for size in sizes if size > 0), None)


def stored_weights(counted: Iterable[CountedWeights], stored: Storage) -> tuple[Weights, ...]:
    """Returns the weights in their storage formats; weights stored alike are added up."""
    totals: Counter[tuple[NumberFormat, CountedWeights]] = Counter()
    for each in counted:
        quantised = each.quantised or stored.quantised.everywhere
        form = stored.quantised if quantised else stored.plain
        totals[form, replace(each, values=0, quantised=False)] += each.values
    return tuple(
        replace(
            stored.weights(each.kind, values, form),
            experts=each.experts,
            active=each.active,
            held=each.held,
        )
        for (form, each), values in totals.items()
    )
