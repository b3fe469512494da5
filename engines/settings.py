"""The settings of a run on an engine, as the command line names them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Which engine decodes, how it drafts, and at what load.

    engine_command: what starts it, in words of a shell; None: its own program.
    draft_sampling: None: the engine's own default.
    concurrencies: requests at once, each a case.
    laws: who scores texts; None: what the kind says.
    target_url, draft_url: running servers of either model alone.
    threads: of each model; None: as many as cores are free.
    servers: whether those of all γ run at once or in turn; None: what the kind says.
    """

    engine: str
    engine_command: str | None = None
    draft_sampling: Literal["argmax", "sampled"] | None = None
    concurrencies: tuple[int, ...] = (1,)
    laws: Literal["engine", "local"] | None = None
    target_url: str | None = None
    draft_url: str | None = None
    threads: int | None = None
    servers: Literal["together", "in-turn"] | None = None
