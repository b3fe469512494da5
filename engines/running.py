"""Servers that run already, wherever: one that speculates, one of the same target that does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from engines.engine import DraftSampling, Server, Setting
from engines.llama_cpp import LlamaCppServer
from engines.serving.child import healthy
from engines.vllm import VllmServer


@dataclass(frozen=True, slots=True)
class RunningPair:
    """Two servers of one kind of engine, which nobody starts or stops here.

    name: vllm or llama.cpp.
    server, baseline_server: their URLs. γ and the way of drafting are the server's own.
    """

    name: str
    server: str
    baseline_server: str
    drafts_with_prompt: bool = False
    draft_samplings: tuple[DraftSampling, ...] = ("argmax", "sampled")

    @property
    def drafts_past_end(self) -> bool:
        """Whether a block drafts γ tokens though fewer can still be emitted."""
        return self.name == "vllm"

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[Server]:
        """Gives the server of the setting's kind; see `engines.engine.Engine`.

        Raises:
          ValueError: if it is not up, or serves another model than the other one.
        """
        if self.name not in ("vllm", "llama.cpp"):
            raise ValueError(f"server must be of vllm or llama.cpp, got {self.name}")
        url = self.server if setting.gamma > 0 else self.baseline_server
        if not healthy(url.rstrip("/").removesuffix("/v1")):
            raise ValueError(f"server must be up, got no answer of {url}")
        if self.name == "llama.cpp":
            yield LlamaCppServer(url)
            return
        server, baseline = VllmServer(self.server), VllmServer(self.baseline_server)
        if server.model != baseline.model:
            raise ValueError(
                "server and baseline-server must serve one model, got "
                f"{server.model} and {baseline.model}"
            )
        yield server if setting.gamma > 0 else baseline
