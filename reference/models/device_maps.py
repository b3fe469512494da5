"""Maps that divide a model's layers among devices."""

import json
from collections.abc import Mapping
from typing import Any

# accelerate's own maps: fill all GPUs evenly, all but the first, or one after the other.
AUTOMATIC = ("auto", "balanced", "balanced_low_0", "sequential")

DeviceMap = str | Mapping[str, str | int]


def parse_device_map(text: str) -> DeviceMap:
    """Parses a device map: one of the words in AUTOMATIC, or JSON with a device for each module."""
    if text in AUTOMATIC:
        return text
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict) or not parsed:
        raise ValueError(
            f"device_map must be {', '.join(AUTOMATIC)} or a JSON object of a device for each "
            f"module, got {text}"
        )
    import torch

    numbers = range(torch.cuda.device_count())
    there = {"cpu", *map(str, numbers), *(f"cuda:{number}" for number in numbers)}
    for module, device in parsed.items():
        if isinstance(device, bool) or str(device) not in there:
            raise ValueError(
                f"device_map must name devices of this machine ({', '.join(sorted(there))}), got "
                f"{device} for {module!r}"
            )
    return parsed


def require_modules(module: Any, device_map: DeviceMap, name: str) -> None:
    """Refuses a device map that names a missing module, or that does not place every weight."""
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
