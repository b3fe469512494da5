"""Checks that processes that share a measurement have equal models, prompts and settings."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from estimator.prompts.prompts import prompts_hash
from estimator.traces.measured_traces import Tracing
from reference.drafters.hierarchical import draft_model
from reference.models.derived import transformers_module

# Values compared of each weight, evenly spaced: further training changes all weights of a model.
VALUES = 256


def weights_hash(module: Any) -> str:
    """Returns a hash of a model's weights: names, shapes, precision, and sampled values."""
    digest = hashlib.sha256()
    for name, weight in module.named_parameters():
        digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}".encode())
        if not weight.is_meta:
            values = weight.detach().flatten()
            some = values[:: max(1, len(values) // VALUES)].contiguous().cpu()
            digest.update(some.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]


def described(tracing: Tracing) -> dict[str, str]:
    """Returns everything that texts and traces depend on, by name, as text or hashes."""
    modules = {
        "target": transformers_module(tracing.subject.target),
        "draft": transformers_module(draft_model(tracing.subject.drafter)),
    }
    return {
        "prompts": prompts_hash(tracing.prompts),
        **{
            role: "no model" if module is None else f"weights {weights_hash(module)}"
            for role, module in modules.items()
        },
        "settings": replace(tracing, origins=()).key[:16],
    }


def require_agreement(settings: Sequence[Mapping[str, str]]) -> None:
    """Raises ValueError if processes would measure different things.

    settings: result of `described` in each process.
    """
    for name, wanted in settings[0].items():
        for number, theirs in enumerate(settings):
            if theirs[name] != wanted:
                raise ValueError(
                    f"processes must agree on the {name}, got {wanted} in process 0 and "
                    f"{theirs[name]} in process {number}"
                )
