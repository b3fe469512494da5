"""The setup of a measurement: models, machine, software, settings, date."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.metadata import version
from typing import Any


@dataclass(frozen=True, slots=True)
class Software:
    """Python, operating system and libraries of the machine that measured."""

    python: str | None = None
    platform: str | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextSettings:
    """Prompts and lengths of a measurement."""

    prompts_hash: str | None = None
    max_new_tokens: int | None = None
    max_gamma: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """Models, machine, software and settings of a measurement."""

    target: str
    draft: str
    revision: Mapping[str, str | None] = field(default_factory=dict)
    dtype: str | None = None
    device: str | None = None
    threads: int | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    draft_temperature: float | None = None
    software: Software = Software()
    texts: TextSettings = TextSettings()
    date: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    flags: tuple[str, ...] = ()

    def here(self, libraries: Iterable[str]) -> Setup:
        """Returns the setup with today's date, this machine, and these libraries' versions."""
        return replace(
            self,
            software=Software(
                platform.python_version(),
                platform.platform(),
                {name: version(name) for name in libraries},
            ),
            date=date.today().isoformat(),
        )
