"""Models spread over several devices by accelerate: how a user says so, and where inputs go."""

import json
from collections.abc import Mapping
from typing import Any

import torch

# What accelerate does by itself: fill all GPUs alike, all but the first, or one after the other.
AUTOMATIC = ("auto", "balanced", "balanced_low_0", "sequential")

DeviceMap = str | Mapping[str, str | int]


def parse_device_map(text: str) -> DeviceMap:
    """Returns the map that a user names: one of AUTOMATIC, or a device for each module.

    Args:
      text: its name, or a JSON object such as {"": "cpu"} or {"model": 0, "lm_head": 1}.

    Raises:
      ValueError: if it is neither, or a device is none of this machine's.
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
    """Refuses a map that is not of this model.

    Args:
      device_map: a device for each module; accelerate's own fit any.

    Raises:
      ValueError: if it names a module that the model does not have, or leaves out a weight.
    """
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
    """Returns whether passes of a model move from device to device, by accelerate's hooks."""
    return hasattr(module, "_hf_hook")


def input_device(module: Any) -> torch.device:
    """Returns where a model takes its ids, and gives its logits: where its first layer runs."""
    if is_spread(module):
        # A layer that is kept elsewhere, and brought for each pass, knows where it runs.
        hook = getattr(module.get_input_embeddings(), "_hf_hook", None)
        runs_on = getattr(hook, "execution_device", None)
        if runs_on is not None:
            return torch.device(runs_on)
    found: torch.device = module.device
    return found
