"""SGLang: the user's own installation, started as its HTTP server; prompts and texts are ids.

Never run against a real SGLang. Flags, pages and keys were read in its source (2026):
`server_args.py`, `http_server.py`, `spec_decoding_meta.py` and, before May 2026,
`tokenizer_manager.py` with other key names.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from threading import Lock
from typing import Any

from engines.counting import NOTHING, Counts
from engines.engine import Completion, Setting
from engines.kind import Drafted, exports_of
from engines.observing.sglang import TURNS_ON
from engines.servers.http import get_text, stream_json, streamed
from engines.servers.process import CommandPair, serving

# Keys of an answer's counts: accepted and drafted tokens, by age of the release.
KEYS = (
    ("spec_accepted_drafts", "spec_proposed_drafts"),
    ("spec_accept_token_num", "spec_draft_token_num"),
)


class SglangServer:
    """A running SGLang server. Its counters are the sums of the counts in its answers."""

    model = None

    def __init__(self, url: str, *, speculates: bool) -> None:
        self.url, self._speculates = url, speculates
        self.version = str(json.loads(get_text(f"{url}/get_server_info")).get("version", "unknown"))
        self._counts, self._counting = NOTHING, Lock()

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns the completion of a prompt of token ids; see `EngineServer`. Sends no seed."""
        sampling = {
            "max_new_tokens": max_new_tokens, "temperature": temperature, "ignore_eos": True,
            "top_p": 1.0, "top_k": -1,
        }  # fmt: skip
        body = {"input_ids": list(prompt), "sampling_params": sampling, "stream": True}
        meta = dict[str, Any]()

        def parts() -> Iterator[list[int]]:
            nonlocal meta
            written = 0
            for chunk in stream_json(f"{self.url}/generate", body, engine="sglang"):
                meta, ids = chunk["meta_info"], chunk["output_ids"]
                # All ids so far, or with --incremental-streaming-output those since the last chunk.
                new = ids[written:] if len(ids) == meta["completion_tokens"] else ids
                written += len(new)
                yield new

        text = streamed("sglang", parts(), max_new_tokens, "--context-length")
        if self._speculates:
            with self._counting:
                self._counts += counts_of(meta)
        return text

    def counts(self) -> Counts:
        return self._counts


class Sglang(CommandPair):
    """SGLang with a target and a draft model."""

    name, program = "sglang", "python3 -m sglang.launch_server"

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[SglangServer]:
        model = self.target if setting.model == "target" else self.draft
        flags = [*self.command, "--model-path", model]
        environment = {}
        if setting.gamma > 0:
            fixed = exports_of("sglang").fixed(setting.gamma, Drafted(self.draft), None, 0.0)
            flags += shlex.split(fixed)
            if setting.synthetic is not None:
                # A single number: mean tokens per pass, including the target's own token.
                environment["SGLANG_SIMULATE_ACC_LEN"] = f"{1 + sum(setting.synthetic):g}"
        with serving(flags, name=self.name, environment=environment) as (url, _):
            yield SglangServer(url, speculates=setting.gamma > 0)


def counts_of(meta: Mapping[str, Any]) -> Counts:
    """Returns the counts of drafts in an answer of SGLang; refuses one without counts.

    `spec_accept_histogram` lists the numbers of blocks that accepted 0, 1, … drafted tokens.
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
