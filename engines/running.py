"""Servers that run already, wherever, which nobody starts or stops here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from engines.engine import Server, Setting
from engines.llama_cpp import LlamaCppServer
from engines.serving.child import healthy
from engines.vllm import VllmServer
from estimator.traces.traces import DraftSampling


@dataclass(frozen=True, slots=True)
class RunningPair:
    """Servers of one kind of engine and one pair, by URL.

    name: vllm or llama.cpp.
    target: a server of the target alone.
    server: of the target with its draft; γ and the way of drafting are its own. None: there is
      none.
    draft: of the draft alone. None: there is none.
    """

    name: str
    target: str
    server: str | None = None
    draft: str | None = None
    drafts_with_prompt: bool = False
    draft_samplings: tuple[DraftSampling, ...] = ("argmax", "sampled")

    @property
    def drafts_past_end(self) -> bool:
        """Whether a block drafts γ tokens though fewer can still be emitted."""
        return self.name == "vllm"

    @property
    def flags(self) -> tuple[str, ...]:
        """How it is set, for the record: its owner knows."""
        return ()

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[Server]:
        """Gives the server of the setting's kind; see `engines.engine.Engine`.

        Raises:
          ValueError: if there is none or it is not up, or a target served twice is not one model.
        """
        option, url = self._of(setting)
        if url is None:
            raise ValueError(f"{option} must be given, got none")
        if not healthy(url.rstrip("/").removesuffix("/v1")):
            raise ValueError(f"{option} must be up, got no answer of {url}")
        if self.name == "llama.cpp":
            yield LlamaCppServer(url)
            return
        server = VllmServer(url)
        if setting.gamma > 0 and server.model != VllmServer(self.target).model:
            raise ValueError(
                "server and target-url must serve one model, got "
                f"{server.model} and {VllmServer(self.target).model}"
            )
        if setting.model == "draft" and server.model == VllmServer(self.target).model:
            raise ValueError(
                f"draft-url must serve another model than target-url, got {server.model} at both"
            )
        yield server

    def _of(self, setting: Setting) -> tuple[str, str | None]:
        """Returns the option that names the server of a setting, and its URL."""
        if self.name not in ("vllm", "llama.cpp"):
            raise ValueError(f"a running server must be vllm's or llama.cpp's, got {self.name}")
        if setting.gamma > 0:
            return "server", self.server
        return ("target-url", self.target) if setting.model == "target" else (
            "draft-url",
            self.draft,
        )
