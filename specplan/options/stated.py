"""Which options a user stated."""

from __future__ import annotations

from collections.abc import Mapping


def given(options: Mapping[str, object]) -> list[str]:
    """Returns the names of the options that have a value."""
    return [name for name, value in options.items() if value is not None]
