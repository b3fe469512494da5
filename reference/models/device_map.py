"""Models that accelerate spreads over several devices: their device maps and input device."""

import json
from collections.abc import Mapping
from typing import Any

import torch

# accelerate's own maps: fill all GPUs evenly, all but the first, or one after the other.
AUTOMATIC = ("auto", "balanced", "balanced_low_0", "sequential")

DeviceMap = str | Mapping[str, str | int]


def parse_device_map(text: str) -> DeviceMap:
    """Returns a user's device map: one of AUTOMATIC, or a device of this machine for each module.

    text: a name, or a JSON object such as {"": "cpu"} or {"model": 0, "lm_head": 1}.
    """
    if text in AUTOMATIC:
        return text
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found:
        raise ValueError(
            f"device_map must be {', '.join(AUTOMATIC)} or a JSON object of a device for each "
            f"module, got {text}"
        )
    there = {"cpu"}
    for number in range(torch.cuda.device_count()):
        there |= {str(number), f"cuda:{number}"}
    for module, device in found.items():
        if isinstance(device, bool) or str(device) not in there:
            raise ValueError(
                f"device_map must name devices of this machine ({', '.join(sorted(there))}), got "
                f"{device} for {module!r}"
            )
    return found


def require_modules(module: Any, device_map: DeviceMap, name: str) -> None:
    """Refuses a device map that names a module that the model lacks, or leaves out a weight."""
    if isinstance(device_map, str):
        return
    modules = dict(module.named_modules())
    for key in device_map:
        if key not in modules:
            raise ValueError(f"device_map must name modules of {name}, got {key!r}")
    placed = tuple(f"{key}." if key else "" for key in device_map)
    for weight, _ in module.named_parameters():
        if not weight.startswith(placed):
            raise ValueError(f"device_map must place all of {name}, got no device for {weight}")


def is_spread(module: Any) -> bool:
    """Returns whether accelerate's hooks move a model's passes between devices."""
    return hasattr(module, "_hf_hook")


def input_device(module: Any) -> torch.device:
    """Returns the device of a model's input ids and of its logits."""
    if is_spread(module):
        # A layer that is stored elsewhere and loaded for each pass knows where it runs.
        hook = getattr(module.get_input_embeddings(), "_hf_hook", None)
        runs_on = getattr(hook, "execution_device", None)
        if runs_on is not None:
            return torch.device(runs_on)
    found: torch.device = module.device
    return found
