"""Servers that are already running and are neither started nor stopped here."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from engines.engine import EngineServer, Setting
from engines.servers.process import healthy


@dataclass(frozen=True, slots=True)
class RunningPair:
    """Running servers of one kind of engine and one pair, by URL.

    connect: connects to a server; see `engines.kind.EngineKind`.
    target: URL of a server of the target without speculation.
    server: URL of a server of the target with its draft, at a fixed γ; None: not given.
    draft: URL of a server of the draft; None: not given.
    """

    connect: Callable[[str], EngineServer]
    target: str
    server: str | None = None
    draft: str | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """Empty: only the servers' owner knows their settings."""
        return ()

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[EngineServer]:
        """Yields the server for a setting; see `engines.engine.Engine`.

        Raises:
          ValueError: if the setting's URL is not given, no server answers there, `server` and
            `target-url` serve different models, or `draft-url` and `target-url` serve the same one.
        """
        server = self._reached(*self._of(setting))
        if setting.gamma > 0 or setting.model == "draft":
            target = self.connect(self.target).model
            if setting.gamma > 0 and server.model != target:
                raise ValueError(
                    f"server and target-url must serve one model, got {server.model} and {target}"
                )
            if setting.model == "draft" and target is not None and server.model == target:
                raise ValueError(
                    f"draft-url must serve another model than target-url, got {target} at both"
                )
        yield server

    def _of(self, setting: Setting) -> tuple[str, str | None]:
        if setting.gamma > 0:
            return "server", self.server
        if setting.model == "draft":
            return "draft-url", self.draft
        return "target-url", self.target

    def _reached(self, option: str, url: str | None) -> EngineServer:
        if url is None:
            raise ValueError(f"{option} must be given, got none")
        if not healthy(url.rstrip("/").removesuffix("/v1")):
            raise ValueError(f"no server answers at {url} ({option})")
        return self.connect(url)
