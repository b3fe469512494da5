"""Refuses drafts, devices and models that do not suit a request, before PyTorch is loaded."""

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

# Settings that only some kinds of drafters read.
OF_SOME_KINDS = ("lattice_k", "rescoring_weight")


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
        if getattr(models, setting) is not None and setting not in read:
            raise ValueError(f"{setting} is not read by draft {', '.join(names)}")


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


def require_draft_models(models: ModelSettings, use: str) -> None:
    """Refuses drafts that are no models. use: what they are needed for, as in "to be trained"."""
    for name, drafter in named_drafters(models).items():
        if not isinstance(drafter, ModelKind):
            raise ValueError(f"draft must be a model {use}, got {name}")
