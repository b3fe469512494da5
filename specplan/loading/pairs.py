"""From model options to loaded objects: target, tokenizer, drafters, prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reference.laws.sampling import Sampling
from reference.models.cached_model import CachedModel
from reference.models.device_map import DeviceMap, parse_device_map
from reference.models.families import unapplied_settings
from reference.models.huggingface import (
    end_ids,
    load_model,
    load_tokenizer,
    resolve_device,
)
from reference.rules.block_verification import BlockVerification
from reference.rules.lenience import Lenient
from reference.rules.rule import Rule
from reference.rules.strict import STRICT, Strict
from reference.stopping import Stopping
from specplan.loading.compiling import DRAFT_WIDTHS, with_passes
from specplan.loading.drafters import (
    EMBEDDED,
    DrafterOf,
    load_drafter,
    require_tokenizer_of_target,
    target_source,
)
from specplan.loading.origins import model_files
from specplan.loading.prompts import encoded_prompts, given_prompt, wanted_prompts
from specplan.options.drafter_names import parse_drafter
from specplan.options.model_options import ModelOptions
from specplan.reports.output import warn


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a model command runs with.

    target, tokenizer: loaded.
    drafters: by name, each made for given sampling settings.
    prompts: ids, at least one prompt.
    categories, references: of each prompt; None where its file names none.
    stopping: max_new_tokens and the target's end-of-text ids.
    origins: tells models of one name apart: files, device, precision.
    """

    target: CachedModel
    tokenizer: Any
    drafters: dict[str, DrafterOf]
    prompts: list[list[int]]
    categories: list[str | None]
    references: list[str | None]
    stopping: Stopping
    origins: list[str]


def sampling_at(temperature: float, options: ModelOptions) -> Sampling:
    """Returns the options' sampling settings at a temperature.

    Raises:
      ValueError: if a setting is out of range.
    """
    return Sampling(
        temperature=temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        min_p=options.min_p,
        repetition_penalty=options.repetition_penalty,
    )


def draft_sampling_at(sampling: Sampling, options: ModelOptions) -> Sampling:
    """Returns the settings that the draft samples by: the target's, but for its own temperature.

    Raises:
      ValueError: if that is out of range.
    """
    if options.draft_temperature is None:
        return sampling
    try:
        return replace(sampling, temperature=options.draft_temperature)
    except ValueError as error:
        raise ValueError(f"draft_{error}") from error


def acceptance_rule(lenience: float, verification: str = "token") -> Rule:
    """Returns the strict rule or block verification, or a lossy rule where lenience is not 1.

    Raises:
      ValueError: if lenience is out of range, or given with block verification.
    """
    if verification == "block":
        if lenience != 1:
            raise ValueError(f"lenience must be 1 under block verification, got {lenience}")
        return BlockVerification()
    return STRICT if lenience == 1 else Lenient(lenience)


def require_rule(drafts: Sequence[str], rule: Rule) -> None:
    """Refuses drafts that branch under another rule than the strict one, by which they are judged.

    Raises:
      ValueError: naming both.
    """
    for draft in drafts:
        name = parse_drafter(draft)
        if (name.tree is not None or name.drafts > 1) and not isinstance(rule, Strict):
            raise ValueError(
                f"draft {draft} branches and must be verified by the strict rule, got {rule.name}"
            )


def draft_names(options: ModelOptions) -> tuple[str, ...]:
    """Returns the drafters' names: as given, else the embedded one.

    Raises:
      ValueError: if none is given beside a target.
    """
    if options.drafts or options.target in (None, EMBEDDED):
        return options.drafts or (EMBEDDED,)
    raise ValueError("draft must be given with a target, got none")


def load(
    options: ModelOptions,
    drafts: Sequence[str],
    prompt: str | None = None,
    *,
    compiling: str = "off",
    gammas: Sequence[int] = (),
) -> Loaded:
    """Returns everything that the options name.

    What can be refused without a model is refused before one is read: names, prompts, device, then
    tokenizers.

    Args:
      options: as the user gave them.
      drafts: names of drafters.
      prompt: text that takes the place of the options' prompts.
      compiling: off, on or try (`specplan.loading.compiling`).
      gammas: draft lengths whose passes are then compiled.

    Raises:
      ValueError: with the option's name, rule and value.
    """
    target_name = EMBEDDED if options.target is None else options.target
    texts = wanted_prompts(options) if prompt is None else [given_prompt(prompt)]
    names = {name: parse_drafter(name) for name in drafts}
    heads = any(name.kind == "heads" for name in names.values())
    if compiling != "off" and heads:
        raise ValueError(
            "compile cannot be given with draft heads, which read the states that passes leave"
        )
    if compiling != "off" and any(name.tree is not None for name in names.values()):
        raise ValueError(
            "compile cannot be given with a tree, whose passes have shapes of their own"
        )
    device_map = _device_map(options, compiling=compiling, heads=heads)
    device = resolve_device(options.device)
    source = target_source(target_name)
    tokenizer = load_tokenizer(source, trust_remote_code=options.trust_remote_code)
    for name in names.values():
        require_tokenizer_of_target(name, tokenizer, options, target_name=target_name)
    prompts = encoded_prompts(texts, tokenizer, options, target_name)
    target = load_model(
        source,
        device=device,
        device_map=device_map,
        dtype=options.dtype,
        trust_remote_code=options.trust_remote_code,
    )
    target.name = target_name
    longest = max(map(len, prompts)) + options.max_new_tokens
    drafters = {
        text: load_drafter(
            name, target, tokenizer, options,
            passes=lambda draft: with_passes(
                draft, compiling, longest=longest, widths=DRAFT_WIDTHS
            ),
        )
        for text, name in names.items()
    }   # fmt: skip
    widths = sorted({1, *(gamma + 1 for gamma in gammas)})
    target = with_passes(target, compiling, longest=longest, widths=widths)
    _tell_of_unapplied_settings(target, options)
    return Loaded(
        target,
        tokenizer,
        drafters,
        prompts,
        [None] * len(prompts) if texts is None else [text.category for text in texts],
        [None] * len(prompts) if texts is None else [text.reference for text in texts],
        Stopping(options.max_new_tokens, end_ids(target.module, tokenizer)),
        [
            str(device),
            str(target.module.dtype),
            *model_files(target_name, names.values()),
            # Compiled passes round otherwise, and other devices may.
            *([] if compiling == "off" else [f"compile {compiling}"]),
            *([] if options.device_map is None else [f"device_map {options.device_map}"]),
        ],
    )


def _device_map(options: ModelOptions, *, compiling: str, heads: bool) -> DeviceMap | None:
    """Returns how the target is spread over devices; None: it is on one.

    Raises:
      ValueError: if it cannot be given with another option, or is no map of this machine.
    """
    if options.device_map is None:
        return None
    if options.device != "auto":
        raise ValueError(
            f"device and device_map cannot both be given, got {options.device} and "
            f"{options.device_map}"
        )
    if compiling != "off":
        raise ValueError("compile cannot be given with device_map: passes go from device to device")
    if heads:
        raise ValueError(
            "device_map cannot be given with draft heads, which are where the target's first layer "
            "is and read what the last one leaves"
        )
    return parse_device_map(options.device_map)


def _tell_of_unapplied_settings(target: CachedModel, options: ModelOptions) -> None:
    """Says which settings the target's own configuration has that the options do not."""
    found = unapplied_settings(target.module.generation_config)
    others = {
        name: value for name, value in found.items() if getattr(options, name, None) != value
    }
    if others:
        listed = ", ".join(f"{name} {value}" for name, value in others.items())
        warn(f"not applied of the generation_config of {target.name}: {listed}")
