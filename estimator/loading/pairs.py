"""Turns settings into objects: target, tokenizer, drafters, prompts, policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from estimator.draft_names.kind import DrafterOf, LoadContext, walk
from estimator.draft_names.suitable import named_drafters, require_placeable, require_read
from estimator.loading.folders import model_files
from estimator.progress import notice
from estimator.prompts.files import Prompt
from estimator.prompts.prompts import encoded_prompts, wanted_prompts
from estimator.settings import (
    ADAPTIVE,
    CONFIDENCE,
    FIXED,
    HEURISTIC,
    ModelSettings,
    PromptSource,
    SamplingSettings,
    TargetSettings,
    require_policies,
)
from reference.models.architectures import CausalModel
from reference.models.cached_model import CachedModel
from reference.models.compiled_model import CompiledModel, CompileError
from reference.models.device_maps import parse_device_map
from reference.models.embedded import EMBEDDED, target_source
from reference.models.huggingface import (
    end_ids,
    load_model,
    load_tokenizer,
    resolve_device,
    unapplied_settings,
)
from reference.policies import Confidence, Fixed, Heuristic, Policy, Product
from reference.records import Stopping


@dataclass(frozen=True, slots=True)
class LoadedPair:
    """The models, drafters and prompts that a command loaded.

    drafters: by drafter's name, a function that makes the drafter from sampling settings.
    prompts: token ids per prompt, for at least one prompt.
    texts: the prompts as read; empty texts for prompts made from source files of Python's library.
    origins: strings that identify the models' content: files, device, precision.
    """

    target: CachedModel
    tokenizer: Any
    drafters: dict[str, DrafterOf]
    prompts: list[list[int]]
    texts: list[Prompt]
    stopping: Stopping
    origins: list[str]


def load(
    models: TargetSettings,
    text: PromptSource,
    *,
    sampling: SamplingSettings | None = None,
    prompt: str | None = None,
    compiling: str = "off",
    gammas: Sequence[int] = (),
) -> LoadedPair:
    """Loads and returns the models, drafters and prompts that settings name.

    Names, prompts, device and tokenizers are checked before a model is read.

    sampling: sampling settings of the target; None: top-k and top-p cut off no tokens.
    prompt: text of the only prompt; None: read the prompts from the source that `text` names.
    compiling: whether forward passes are compiled: off, on, or try (compile if possible).
    gammas: draft lengths for which forward passes are compiled.
    """
    target_name = EMBEDDED if models.target is None else models.target
    texts = wanted_prompts(text, prompt)
    both = models if isinstance(models, ModelSettings) else ModelSettings()
    names = named_drafters(models)
    parts = [part for drafter in names.values() for part in walk(drafter)]
    require_read(both)
    require_placeable(models, compiling=compiling)
    device = resolve_device(models.device)
    source = target_source(target_name)
    tokenizer = load_tokenizer(source, trust_remote_code=models.trust_remote_code)
    for part in parts:
        part.require(target_name, tokenizer=tokenizer, settings=both)
    prompts = encoded_prompts(texts, tokenizer, text, target_name)
    target = load_model(
        source,
        device=device,
        device_map=None if models.device_map is None else parse_device_map(models.device_map),
        dtype=models.dtype,
        trust_remote_code=models.trust_remote_code,
    )
    target.name = target_name
    longest = max(map(len, prompts)) + text.max_new_tokens
    passes = partial(_with_passes, compiling=compiling, longest=longest)
    context = LoadContext(target, tokenizer, both, passes)
    drafters = {name: drafter.load(context) for name, drafter in names.items()}
    target = passes(target, widths=sorted({1, *(gamma + 1 for gamma in gammas)}))
    _warn_of_unapplied_settings(target, SamplingSettings() if sampling is None else sampling)
    origins = [str(device), str(target.module.dtype), *model_files(target_name, names.values())]
    # Compiled passes round differently, and other devices may.
    if compiling != "off":
        origins.append(f"compile {compiling}")
    if models.device_map is not None:
        origins.append(f"device_map {models.device_map}")
    texts = texts or [Prompt("")] * len(prompts)
    stopping = Stopping(text.max_new_tokens, end_ids(target.module, tokenizer))
    return LoadedPair(target, tokenizer, drafters, prompts, texts, stopping, origins)


def _warn_of_unapplied_settings(target: CachedModel, sampling: SamplingSettings) -> None:
    """Warns of settings in the target's generation_config that are not applied."""
    unapplied = unapplied_settings(target.module.generation_config).items()
    others = [
        f"{name} {value}" for name, value in unapplied if getattr(sampling, name, None) != value
    ]
    if others:
        notice(f"not applied of the generation_config of {target.name}: {', '.join(others)}")


# A draft reads one token per step, and two after its whole draft was accepted.
DRAFT_WIDTHS = (1, 2)


def _with_passes(
    model: CachedModel, *, compiling: str, longest: int, widths: Sequence[int] = DRAFT_WIDTHS
) -> CachedModel:
    """Returns the model, compiled if `compiling` is "on", or if it is "try" and compiling works.

    longest: most tokens in a text. widths: the numbers of tokens in a compiled forward pass.
    """
    if compiling == "off":
        return model
    try:
        if isinstance(model, CausalModel):
            return CompiledModel(model, longest=longest, widths=widths)
        raise CompileError(f"compile needs a decoder-only model, got {model.name} ({model.kind})")
    except CompileError as error:
        if compiling == "on":
            raise ValueError(f"{error}; `compile` try goes on without") from error
        notice(f"{error}; it runs uncompiled")
        return model


FIRST_HEURISTIC_GAMMA = 5


def parse_policies(
    names: Sequence[str], *, gammas: Sequence[int], max_gamma: int
) -> dict[str, Policy | None]:
    """Returns, by name, the policies that choose draft lengths. `fixed` adds one policy per gamma.

    `adaptive` has the value None, because it needs costs that are measured later.
    max_gamma: longest draft of the policies other than `fixed`.
    """
    require_policies(names, gammas)
    policies: dict[str, Policy | None] = {}
    for name in names:
        family, _, value = name.partition(":")
        if name == FIXED:
            policies |= {f"gamma {gamma}": Fixed(gamma) for gamma in gammas}
        elif name == ADAPTIVE:
            policies[name] = None
        elif name == HEURISTIC:
            start = min(FIRST_HEURISTIC_GAMMA, max_gamma)
            policies[name] = Heuristic(start=start, most=max_gamma)
        else:
            stopping = Confidence if family == CONFIDENCE else Product
            policies[name] = stopping(threshold=float(value), most=max_gamma)
    return policies
