"""SGLang: the user's own installation, started as its HTTP server; prompts and texts are ids.

Never run against a real SGLang. Flags, pages and keys were read in its source (2026):
`server_args.py`, `http_server.py`, `spec_decoding_meta.py` and, before May 2026,
`tokenizer_manager.py` with other key names.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from threading import Lock
from typing import Any

from engines.counting import NOTHING, Counts
from engines.engine import Completion, Setting
from engines.kind import Drafted, EngineSettings, Models, exports_of
from engines.observing.sglang import TURNS_ON
from engines.servers.http import get_text, stream_json
from engines.servers.process import free_port, serving
from engines.servers.vllm import START_SECONDS, words

# Keys of an answer's counts: accepted and drafted tokens, by age of the release.
KEYS = (
    ("spec_accepted_drafts", "spec_proposed_drafts"),
    ("spec_accept_token_num", "spec_draft_token_num"),
)


@dataclass(frozen=True, slots=True)
class Sglang:
    """SGLang with a target and a draft model.

    target, draft: names or folders.
    command: command that starts the server, with the user's own flags; the model and the flags of
      speculation are appended.
    """

    target: str
    draft: str
    command: tuple[str, ...]

    @classmethod
    def of_models(cls, models: Models, settings: EngineSettings) -> Sglang:
        """Returns SGLang with a pair, started by the user's command or by `sglang`."""
        command = settings.engine_command or "python3 -m sglang.launch_server"
        return cls(models.target, models.draft, words(command))

    @property
    def flags(self) -> tuple[str, ...]:
        return self.command

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[SglangServer]:
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        model = self.target if setting.model == "target" else self.draft
        command = [*self.command, "--model-path", model, "--host", "127.0.0.1", "--port", str(port)]
        if setting.gamma > 0:
            command += shlex.split(
                exports_of("sglang").fixed(setting.gamma, Drafted(self.draft), None, None, 0.0)
            )
        # One length for all positions: tokens a pass, the target's own among them.
        simulated = setting.gamma > 0 and setting.synthetic is not None
        length = f"{1 + sum(setting.synthetic or ()):g}"
        with serving(
            command,
            url=url,
            name="sglang",
            start_seconds=START_SECONDS,
            environment={"SGLANG_SIMULATE_ACC_LEN": length} if simulated else None,
        ):
            yield SglangServer(url, speculates=setting.gamma > 0)


class SglangServer:
    """A running SGLang server. Its answers contain counts, which are summed here."""

    model = None

    def __init__(self, url: str, *, speculates: bool) -> None:
        self.url, self._speculates = url, speculates
        self.version = str(json.loads(get_text(f"{url}/get_server_info")).get("version", "unknown"))
        self._counts, self._counting = NOTHING, Lock()

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns a text of ids. The seed is not sent."""
        sampling = {
            "max_new_tokens": max_new_tokens, "temperature": temperature, "ignore_eos": True,
            "top_p": 1.0, "top_k": -1,
        }  # fmt: skip
        body = {"input_ids": list(prompt), "sampling_params": sampling, "stream": True}
        tokens: list[int] = []
        first, began, ended, meta = 0, 0.0, 0.0, dict[str, Any]()
        for chunk in stream_json(f"{self.url}/generate", body):
            if "error" in chunk:
                raise ValueError(f"sglang must take the request, got: {chunk['error']}")
            ended, meta = time.perf_counter(), chunk["meta_info"]
            # All ids so far, or with --incremental-streaming-output those since the last chunk.
            ids = chunk["output_ids"]
            tokens = ids if len(ids) == meta["completion_tokens"] else [*tokens, *ids]
            if not first and tokens:
                first, began = len(tokens), ended
        if len(tokens) != max_new_tokens:
            raise ValueError(
                f"sglang must write {max_new_tokens} tokens, got {len(tokens)}: its "
                "--context-length leaves no room"
            )
        if self._speculates:
            with self._counting:
                self._counts += counts_of(meta)
        return Completion(tuple(tokens), first, ended - began)

    def counts(self) -> Counts:
        return self._counts


def counts_of(meta: Mapping[str, Any]) -> Counts:
    """Returns the counts of drafts in an answer of SGLang.

    The histogram is the number of blocks that accepted 0, 1, … drafted tokens.

    Raises ValueError if the answer has no counts, because speculation is off.
    """
    for accepted, drafted in KEYS:
        if accepted in meta:
            histogram = meta.get("spec_accept_histogram") or []
            reached = tuple(accumulate(reversed(histogram)))[::-1]
            by_position = tuple(reached[1:]) if sum(histogram) == meta["spec_verify_ct"] else ()
            return Counts(meta["spec_verify_ct"], meta[drafted], meta[accepted], by_position)
    raise ValueError(
        f"answers of sglang must count drafts, got none: speculation is off; {TURNS_ON} turns it on"
    )
