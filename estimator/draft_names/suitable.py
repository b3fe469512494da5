"""Refuses drafts, devices and models that do not suit a request, before PyTorch is loaded."""

from collections.abc import Iterable, Sequence

from estimator.draft_names.composed import Tree
from estimator.draft_names.kind import (
    DrafterKind,
    ModelKind,
    draft_names,
    one_draft,
    parse_drafter,
    walk,
)
from estimator.settings import ModelSettings, TargetSettings
from reference.models.device_maps import parse_device_map
from reference.models.embedded import EMBEDDED

# Settings that only some kinds of drafters read.
OF_SOME_KINDS = ("lattice_k", "rescoring_weight", "force")


def named_drafters(models: TargetSettings) -> dict[str, DrafterKind]:
    """Returns the drafters of a request by their names; empty if its settings name no drafts."""
    names = draft_names(models) if isinstance(models, ModelSettings) else ()
    return {name: parse_drafter(name) for name in names}


def require_read(models: ModelSettings) -> None:
    """Refuses a setting that none of the drafts reads."""
    names = named_drafters(models)
    read = {
        setting for drafter in names.values() for part in walk(drafter) for setting in part.reads
    }
    for setting in OF_SOME_KINDS:
        if getattr(models, setting) not in (None, False) and setting not in read:
            raise ValueError(f"{setting} is not read by draft {', '.join(names)}")


def require_sampled(models: ModelSettings, draft_temperature: float | None) -> None:
    """Refuses a temperature of the draft if none of the drafts has one."""
    if draft_temperature is None:
        return
    names = named_drafters(models)
    if not any(part.samples for drafter in names.values() for part in walk(drafter)):
        raise ValueError(f"draft_temperature is not read by draft {', '.join(names)}")


def require_predictable(
    models: ModelSettings, policies: Sequence[str], temperatures: Iterable[float]
) -> None:
    """Refuses trees that replay cannot predict.

    policies: draft lengths and other policies to compare. temperatures: temperatures of the draft.
    """
    for name, drafter in named_drafters(models).items():
        if not isinstance(drafter, Tree):
            continue
        if len(policies) != 1 or not policies[0].isdecimal():
            got = ", ".join(policies)
            raise ValueError(f"gamma must be one number for {name}, its depth, got {got}")
        for temperature in temperatures:
            if temperature > 0:
                raise ValueError(
                    f"draft_temperature must be 0 for {name}, got {temperature:g}: replay cannot "
                    "predict trees of drawn tokens; specplan generate runs them"
                )


def require_placeable(models: TargetSettings, *, compiling: str) -> None:
    """Refuses a device map or compiling that the drafts or other settings exclude.

    compiling: see `estimator.loading.pairs.load`.
    """
    parts = [part for drafter in named_drafters(models).values() for part in walk(drafter)]
    if compiling != "off":
        for why in filter(None, (part.uncompiled for part in parts)):
            raise ValueError(f"compile cannot be given with {why}")
    if models.device_map is None:
        return
    if models.device != "auto":
        raise ValueError(
            f"device and device_map cannot both be given, got {models.device} and "
            f"{models.device_map}"
        )
    if compiling != "off":
        raise ValueError("compile cannot be given with device_map: passes go from device to device")
    for why in filter(None, (part.unspread for part in parts)):
        raise ValueError(f"device_map cannot be given with {why}")
    parse_device_map(models.device_map)


def require_measurable(models: ModelSettings) -> None:
    """Refuses several drafts, and a draft whose acceptance cannot be measured."""
    name = one_draft(models)
    unmeasured = parse_drafter(name).unmeasured
    if unmeasured is not None:
        what, _, instead = unmeasured.partition(": ")
        raise ValueError(f"draft must not be {what}, got {name}: {instead}")


def served_name(target: str, drafts: Sequence[str]) -> str:
    """Returns the name of the draft that a server loads; refuses several, and what is no model."""
    if not drafts and target == EMBEDDED:
        return EMBEDDED
    if len(drafts) != 1:
        raise ValueError(f"draft must be given once with `engine`, got {len(drafts)}")
    if parse_drafter(drafts[0]).served is None:
        raise ValueError(
            f"draft must be a model with `engine`, got {drafts[0]}: its server drafts with no other"
        )
    draft = drafts[0].removeprefix("hf:")
    if draft == EMBEDDED and target != EMBEDDED:
        raise ValueError(f"draft embedded needs the embedded target, got {target}")
    return draft


def require_draft_models(models: ModelSettings, use: str) -> None:
    """Refuses drafts that are no models. use: what they are needed for, as in "to be trained"."""
    for name, drafter in named_drafters(models).items():
        if not isinstance(drafter, ModelKind):
            raise ValueError(f"draft must be a model {use}, got {name}")
