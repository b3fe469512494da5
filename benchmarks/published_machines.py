"""The deployment of each row of public measurements: models, GPU, and how passes are priced.

published_models.json has the shapes, counted from the sizes in published config.json files as known
(heads whose configuration was not found: from their stated or usual sizes), mean bits a weight of
llama.cpp's mixed formats, GPUs that the catalogue lacks (and their chips, if known), and the pages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from published_trees import Trees, branching_seconds

from estimator.costs.kernel_tables import MeasuredKernels
from estimator.costs.same_chip import OtherMemory, kernels_of
from simulator.cost.fitted.kernels import KernelMachine
from simulator.cost.fitted.machine import PARAMETERS, Machine, RooflineMachine, Work, work
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.deployment import Deployment, Launch
from simulator.cost.roofline.hardware import (
    FORMATS,
    Hardware,
    NumberFormat,
    find_hardware,
    own_hardware,
)
from simulator.cost.roofline.matrices import PLAIN_CACHES, Matrix
from simulator.cost.roofline.shapes import CacheLayers, DraftShape, ModelShape, Weights
from simulator.cost.roofline.sharing import Conditions

HERE = Path(__file__).parent
KNOWN: dict[str, Any] = json.loads((HERE / "published_models.json").read_text(encoding="utf-8"))
# GPUs where a page does not say: the fewest whose memory the weights fill no further than this.
FULLEST = 0.85


@dataclass(frozen=True, slots=True)
class PublishedLoad(LoadPoint):
    """A load whose server reads prompts while it decodes.

    prompt_ratio: tokens of other requests' prompts that the server reads per emitted token.
    """

    prompt_ratio: float = 0.0


@dataclass(frozen=True, eq=False)
class PublishedMachine(Machine):
    """A machine that may draft trees, and reads the prompts of its `PublishedLoad`.

    widths: tokens that one pass of the draft reads, by γ, in trees; 1 where γ is missing.
    checked: tokens that the target verifies, by γ, in trees; γ + 1 where γ is missing.
    emitted: tokens of a block by γ, each of which waits for prompts; 1 where γ is missing. It is
      for blocks whose length a posterior does not know (`published_scores.predicted`).
    """

    widths: Mapping[int, int] = field(default_factory=dict, kw_only=True)
    checked: Mapping[int, int] = field(default_factory=dict, kw_only=True)
    emitted: Mapping[int, float] = field(default_factory=dict, kw_only=True)

    def drafting_work(self, load: LoadPoint, gamma: int, width: int = 1) -> Work:
        return super().drafting_work(load, gamma, self.widths.get(gamma, width))  # type: ignore[safe-super]

    def checking_work(self, load: LoadPoint, new_tokens: int) -> Work:
        return super().checking_work(load, self.checked.get(new_tokens - 1, new_tokens))

    def token_work(self, load: LoadPoint, gamma: int, length: float) -> Work:
        work = super().token_work(load, gamma, length)
        if not isinstance(load, PublishedLoad) or load.prompt_ratio == 0:
            return work
        tokens = load.batch * load.prompt_ratio * self.emitted.get(gamma, 1.0)
        return work + self.prompt_work(tokens)


@dataclass(frozen=True, eq=False)
class PublishedRoofline(PublishedMachine, RooflineMachine):
    """A published machine priced by the roofline."""


@dataclass(frozen=True, eq=False)
class PublishedKernels(PublishedMachine, KernelMachine):
    """A published machine priced by measured kernels."""

    def block_pass(self, load: LoadPoint, new_tokens: int) -> Work:
        branching = branching_seconds(self, load, new_tokens, max(self.widths.values(), default=1))
        return super().block_pass(load, new_tokens) + work(fixed=branching)


class BatchExpanding(PublishedRoofline):
    """vLLM V0: every drafted token of a sequence is scored as a sequence of its own.

    Each reads the whole cache again, as its paged attention for one token does, so what the prior
    calls "recache" is reading the cache itself.
    """

    def block_pass(self, load: LoadPoint, new_tokens: int) -> Work:
        work = super().block_pass(load, new_tokens)
        work[PARAMETERS.index("cache")] += work[PARAMETERS.index("recache")]
        work[PARAMETERS.index("recache")] = 0
        return work


@cache
def kernel_machine(machine: Machine, engine: str) -> Machine | None:
    """Returns the machine with its passes from measured kernels; None where there are none."""
    assert isinstance(machine, PublishedRoofline)
    deployment, trees = machine.deployment, {"widths": machine.widths, "checked": machine.checked}
    gpu = deployment.hardware.name
    if isinstance(machine, BatchExpanding):
        return None
    chip = KNOWN["chips"].get(gpu)
    try:
        if chip is None:
            tables = kernels_of(gpu, engine)
        else:
            measured = MeasuredKernels(chip, engine)
            tables = OtherMemory(measured, find_hardware(chip), deployment.hardware)
        return PublishedKernels(deployment, tables, **trees)
    except ValueError:
        return None


@cache
def machine_of(*names: str, expands: bool, trees: Trees, launch: Launch | None) -> Machine:
    """Returns the machine of a row's shape, weights, draft shape, GPU, and how GPUs share it."""
    shape, weights, draft, gpu, tp, dcp, dp, ep = names
    target = _model(shape, weights, share=int(dcp or 1))
    hardware = _hardware(gpu)
    fits = [n for n in (1, 2, 4) if target.weight_bytes / n < FULLEST * hardware.memory_bytes]
    gpus = int(tp) if tp else (*fits, 8)[0]
    if hardware.link_bandwidth is None:
        gpus = 1
    served = BatchExpanding if expands else PublishedRoofline
    given = Conditions(tp=gpus, dp=int(dp or 1), ep=int(ep or 1))
    deployment = Deployment(target, _draft(draft, target), hardware, given, launch=launch)
    widths = {gamma: width for gamma, width, _ in trees}
    return served(deployment, widths=widths, checked={gamma: read for gamma, _, read in trees})


@cache
def _hardware(gpu: str) -> Hardware:
    known = KNOWN["hardware"][gpu]
    if isinstance(known, str):
        return find_hardware(known)
    if gpu in KNOWN["chips"]:
        bandwidth, memory = 1e9 * known["gigabytes_a_second"], 1e9 * known["gigabytes"]
        same = find_hardware(KNOWN["chips"][gpu])
        return replace(same, name=gpu, bandwidth=bandwidth, memory_bytes=memory)
    return own_hardware(
        flops=1e12 * known["tera"],
        bandwidth=1e9 * known["gigabytes_a_second"],
        memory_bytes=1e9 * known["gigabytes"],
    )


def _format(name: str) -> NumberFormat:
    """Returns a number format; llama.cpp's mixed ones by their mean bits a weight."""
    if name not in KNOWN["formats"]:
        return FORMATS[name]
    # The bits beyond one as scales of a group.
    bits = KNOWN["formats"][name]
    return NumberFormat(name, 1, 32, 4 * (bits - 1), "int8", everywhere=True)


def _weights(
    known: Mapping[str, Any], kind: str, values: int, stored: NumberFormat, *routed: int
) -> Weights:
    """Returns weights of a model; routed: experts, active and inner size of experts."""
    size = values * stored.bytes_per_value
    # Checkpoints in FP8 have activations in FP8, too.
    computed = stored.product_format("fp8" if stored.name == "fp8" else "bfloat16")
    found = Weights(kind, values, size, computed, *routed)  # type: ignore[arg-type]
    return replace(found, matrices=_matrices(kind, values, known))


def _matrices(kind: str, values: int, known: Mapping[str, Any]) -> tuple[Matrix, ...]:
    """Returns the matrices of weights whose page states a configuration, by its sizes.

    The rest of `values` (a head's second input, for example) is a further matrix. Empty if
    they are more than `values`, or of a kind of layer that is not known.
    """
    hidden, layers, caches = known["hidden"], known["layers"], known["caches"]
    # Weights of a draft name their format before the number of experts.
    routed = (each for each in known["weights"] if each[0] == "experts")
    experts = next((next(size for size in each[2:] if isinstance(size, int)) for each in routed), 0)
    found: list[Matrix] = []
    if kind == "attention" and caches[0]["kind"] == "latent":  # of DeepSeek-V3 and Kimi-K2
        heads = known["heads"]
        found = [Matrix(2112, hidden, "whole"), Matrix(192 * heads, 1536), Matrix(256 * heads, 512)]
        found.append(Matrix(hidden, 128 * heads, "inputs"))
    elif kind == "attention" and all(each["kind"] in PLAIN_CACHES for each in caches):
        queries, kept = (int(caches[0][name]) for name in ("operations", "bytes_per_token"))
        found = [Matrix(queries // 4 + kept // 2, hidden), Matrix(hidden, queries // 4, "inputs")]
    elif kind == "feed-forward":
        found = [Matrix(experts, hidden, "whole")] if experts else []
        inner = round((values / layers / hidden - experts) / 3)
        found += [Matrix(2 * inner, hidden), Matrix(hidden, inner, "inputs")] if inner else []
    every = values / layers / hidden
    rest = every - sum(each.outputs * each.inputs for each in found) / hidden
    if rest < -0.01 * every:
        return ()
    found += [Matrix(round(rest), hidden)] if found and rest > 0.01 * every else []
    return tuple(each._replace(copies=layers) for each in found)


def _caches(known: list[dict[str, Any]], share: int = 1) -> tuple[CacheLayers, ...]:
    return tuple(
        CacheLayers(
            each["kind"], each["layers"], each["bytes_per_token"] / share,
            each.get("state_bytes", 0), each.get("window"), each["operations"], each["shards"],
        )
        for each in known
    )  # fmt: skip


def _model(name: str, weights: str, *, share: int = 1) -> ModelShape:
    known, stored = KNOWN["models"][name], _format(weights.removeprefix("experts "))
    parts = []
    for kind, values, *routed in known["weights"]:
        kept = kind in ("embedding", "head") and not stored.everywhere
        if kept or (weights.startswith("experts") and kind != "experts"):
            parts.append(_weights(known, kind, values, FORMATS["bfloat16"], *routed))
        else:
            parts.append(_weights(known, kind, values, stored, *routed))
    sizes = (known["layers"], known["hidden"], known["heads"], known["vocabulary"])
    return ModelShape(name, *sizes, tuple(parts), _caches(known["caches"], share), "bfloat16")


def _draft(name: str, target: ModelShape) -> DraftShape:
    if name == "look-up":
        nothing = ModelShape(name, 0, target.hidden, target.heads, 1, (), (), "bfloat16")
        return DraftShape("model", nothing, True, None, 0)
    known = KNOWN["drafts"][name]
    if "model" in known:
        return DraftShape("model", _model(known["model"], known["weights"]), False, None, 0)
    parts = tuple(
        _weights(known, kind, values, _format(stored), *routed)
        for kind, values, stored, *routed in known["weights"]
    )
    sizes = (known["layers"], known["hidden"], known["heads"], 1)
    shape = ModelShape(name, *sizes, parts, _caches(known["caches"]), "bfloat16")
    return DraftShape("model", shape, known["parallel"], None, 0)
