"""The shape of a model from its config.json: its counts in the storage formats of its weights."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from estimator.model_shapes.counting import Count, architecture, count
from estimator.model_shapes.weights_and_caches import BYTES_PER_VALUE
from estimator.model_shapes.weights_by_kind import CountedWeights
from simulator.cost.roofline.hardware import FORMATS, NumberFormat, find_format, int4
from simulator.cost.roofline.shapes import ModelShape, Weights

_PLAIN = ("float32", "bfloat16", "float16")
# Quantisation methods with a single format: its name, and the activations' format; None: plain.
_METHODS = {"fp8": ("fp8", "fp8"), "fbgemm_fp8": ("fp8", "fp8"), "mxfp4": ("mxfp4", None)}
# Names of the lists of modules that stay plain.
_KEPT = ("modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules")


@dataclass(frozen=True, slots=True)
class Storage:
    """The formats of a model's weights and activations.

    plain: format of unquantised weights.
    quantised: format of linear layers and experts; equal to plain if nothing is quantised.
    activations: a name in simulator.cost.roofline.hardware.COMPUTED.
    kept: regular expressions, searched in module names, for modules that are not quantised.
    """

    plain: NumberFormat
    quantised: NumberFormat
    activations: str
    kept: tuple[str, ...] = ()

    def weights(self, of: CountedWeights, form: NumberFormat) -> Weights:
        """Returns counted weights as stored in one number format, `plain` or `quantised`."""
        stored_bytes = of.values * form.bytes_per_value
        computed_in = form.product_format(self.activations)
        return Weights(
            of.kind, of.values, stored_bytes, computed_in, of.experts, of.active, of.inner, of.held,
            of.matrices,
        )  # fmt: skip


def shape_of(
    config: Mapping[str, Any],
    *,
    dtype: str | None = None,
    activations: str | None = None,
    count: Count = count,
) -> ModelShape:
    """Returns the shape of the causal language model that a configuration describes.

    The model is built by transformers on torch's meta device, which takes seconds and no memory.
    Its weights are counted, and its caches are measured in a pass on that device.

    config: the parsed config.json; for a multimodal model only the text part counts.
    dtype: number format of the weights, a name in `FORMATS`; None: as the configuration states.
    activations: number format of activations; None: as the configuration states, else 16 bits.
    count: `count`, or a function with cached counts (estimator.model_shapes.kept_counts).
    """
    architecture(config)
    stored = storage(config, dtype=dtype, activations=activations)
    counted = count(config, stored.kept, "whole")
    wider = round(stored.plain.bytes_per_value) / BYTES_PER_VALUE
    caches = (
        replace(cache, bytes_per_token=cache.bytes_per_token * wider) for cache in counted.caches
    )
    sizes = (counted.name, counted.layers, counted.hidden, counted.heads, counted.vocabulary)
    weights = stored_weights(counted.weights, stored)
    return ModelShape(*sizes, weights, tuple(caches), stored.activations)


def stored_weights(counted: Iterable[CountedWeights], stored: Storage) -> tuple[Weights, ...]:
    """Returns the weights in their storage formats, summed over equal kinds and formats."""
    totals: dict[tuple[NumberFormat, CountedWeights], CountedWeights] = {}
    for weights in counted:
        quantised = weights.quantised or stored.quantised.everywhere
        form = stored.quantised if quantised else stored.plain
        alike = replace(weights, values=0, quantised=False, matrices=())
        total = totals.get((form, alike), alike)
        totals[form, alike] = replace(
            total,
            values=total.values + weights.values,
            matrices=(*total.matrices, *weights.matrices),
        )
    return tuple(stored.weights(weights, form) for (form, _), weights in totals.items())


def storage(
    config: Mapping[str, Any], *, dtype: str | None = None, activations: str | None = None
) -> Storage:
    """Returns the storage formats of the model that a config.json describes.

    dtype: format of the weights, a name in FORMATS; None: as the configuration states.
    activations: format of activations; None: as the configuration states, else 16 bits.
    """
    parts = [part for part in (config.get("text_config"), config) if isinstance(part, Mapping)]
    named = dtype if dtype in _PLAIN else _named(parts)
    plain = FORMATS[named or "bfloat16"]
    quantised, computed, kept = plain, plain.name, tuple[str, ...]()
    fields = [part.get("quantization_config") for part in reversed(parts)]
    quantisation = next((field for field in fields if isinstance(field, Mapping)), None)
    if dtype is not None:
        quantised = find_format(dtype)
    elif quantisation:
        quantised, computed = _quantised(quantisation, plain.name)
        lists = (quantisation.get(name) for name in _KEPT)
        modules = next((names for names in lists if isinstance(names, (list, tuple))), ())
        kept = tuple(_pattern(str(module)) for module in modules)
    elif named is None:
        raise ValueError(
            "config.json has no torch_dtype (nor dtype): name the number format (`dtype`)"
        )
    return Storage(plain, quantised, computed if activations is None else activations, kept)


def _named(parts: Sequence[Mapping[str, Any]]) -> str | None:
    """Returns the unquantised format (dtype) that a configuration names, or None."""
    for name, value in ((n, part.get(n)) for part in parts for n in ("dtype", "torch_dtype")):
        if value is not None:
            form = str(value).removeprefix("torch.")
            if form not in _PLAIN:
                raise ValueError(f"{name} in config.json must be one of {_PLAIN}, got {form}")
            return form
    return None


def _quantised(fields: Mapping[str, Any], plain: str) -> tuple[NumberFormat, str]:
    """Returns the formats of weights and activations. fields: the quantization_config."""
    method = str(fields.get("quant_method", fields.get("quant_algo", "none"))).lower()
    if method in _METHODS:
        name, narrow = _METHODS[method]
        return FORMATS[name], narrow or plain
    if method in ("awq", "gptq"):
        bits = fields.get("bits", fields.get("w_bit", 4))
        asymmetric = bool(fields.get("zero_point", fields.get("sym") is False))
        return _integer(bits, fields, asymmetric=asymmetric), plain
    if method == "bitsandbytes":
        if fields.get("load_in_8bit") is True:
            return FORMATS["int8"], plain
        return int4(group=64, zero_points=False, scale_bytes=4.0), plain
    if method in ("modelopt", "modelopt_fp4", "fp8_modelopt"):
        algorithm = str(fields.get("quant_algo", "")).upper()
        if algorithm == "FP8":
            return FORMATS["fp8"], "fp8"
        if "NVFP4" in algorithm:
            return FORMATS["nvfp4"], "fp4"
    if method == "compressed-tensors":
        return _compressed_tensors(fields, plain)
    raise ValueError(f"quantization_config must be of a method that is covered, got {method}")


def _compressed_tensors(fields: Mapping[str, Any], plain: str) -> tuple[NumberFormat, str]:
    groups = fields.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = first.get("weights") if isinstance(first, Mapping) else None
    if not isinstance(first, Mapping) or not isinstance(weights, Mapping):
        raise ValueError("quantization_config of compressed-tensors must have config_groups")
    inputs, narrow = first.get("input_activations"), plain
    if isinstance(inputs, Mapping):
        stated = (inputs.get("num_bits", 16), inputs.get("type") == "float")
        narrow = {(8, True): "fp8", (8, False): "int8", (4, True): "fp4"}.get(stated, plain)
    bits, floating = weights.get("num_bits"), weights.get("type") == "float"
    if floating and bits in (4, 8):
        four = "mxfp4" if weights.get("group_size") == 32 else "nvfp4"
        return FORMATS["fp8" if bits == 8 else four], narrow
    return _integer(bits, weights, asymmetric=weights.get("symmetric") is False), narrow


def _integer(bits: Any, fields: Mapping[str, Any], *, asymmetric: bool) -> NumberFormat:
    stated = fields.get("group_size", fields.get("q_group_size"))
    # -1 or no value: one scale per row, whose size is negligible.
    group = stated if isinstance(stated, int) and stated > 0 else 4096
    if bits == 4:
        return int4(group=group, zero_points=asymmetric)
    if bits == 8:
        return NumberFormat("int8", 8, group, 2.0 + asymmetric, "int8")
    raise ValueError(f"quantised weights must have 4 or 8 bits, got {bits}")


def _pattern(module: str) -> str:
    """Returns a regular expression for modules named by part of a name, a glob, or "re:REGEX"."""
    if module.startswith("re:"):
        return module.removeprefix("re:")
    words = (re.escape(word) for word in module.removeprefix("model.").split("*"))
    return r"(^|\.)" + ".*".join(words) + r"($|\.)"
