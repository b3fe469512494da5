"""Tunes a running server: by requests if they can set γ, else one run per restart by its owner."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec

from engines.engine import EngineServer, Setting
from engines.kind import EngineKind, engine_kinds, listed, names_of
from engines.servers.http import get_text
from engines.servers.llama_cpp import LlamaCppServer
from engines.servers.process import healthy
from engines.trials.runs import EngineRun, Prompts, run
from engines.tuning.bench import Bench, NotObeyedError, require_obeyed
from engines.tuning.outlook import Costs
from engines.tuning.request import TuneServer, Tuning
from engines.tuning.search import Search, Shown
from engines.tuning.tuned import Tuned
from estimator.progress import Progress
from estimator.prompts.prompts import prompt_ids

# A page of each kind of server, and a key that it has.
PAGES = (("llama.cpp", "/props", "build_info"), ("vllm", "/version", "version"))
PAGE_SECONDS = 10.0
# γ that requests name to see whether the server takes any.
PROBED = (1, 3)
DRAFT = "DRAFT"


class Reached:
    """A running server as an engine with a fixed γ, or with the γ that a request sets."""

    flags = ()

    def __init__(self, server: EngineServer, *, by_request: bool) -> None:
        """Stores the server; by_request: whether requests can set γ."""
        self._server, self._by_request = server, by_request

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[EngineServer]:
        if self._by_request and isinstance(self._server, LlamaCppServer):
            yield LlamaCppServer(self._server.url, gamma=setting.gamma, p_min=setting.p_min)
        else:
            yield self._server


def tune_running(
    request: TuneServer, *, progress: Progress, shown: Shown, costs: Costs | None
) -> Tuned:
    """Returns the runs of a tuning; a server that cannot change its γ gets one more run.

    Raises:
      ValueError: if the kind of server is unknown, or its number of drafted tokens changes.
      OSError: if the server does not answer.
    """
    url, how = request.server.rstrip("/").removesuffix("/v1"), request.how
    kind = _kind(url, request.engine)
    assert kind.connect is not None  # _kind gives no others
    server: Any = kind.connect(url)
    if how.text.chat:
        raise ValueError("chat needs a tokenizer here, which --server does not give")

    def tokenizer(text: str) -> dict[str, list[int]]:
        return {"input_ids": server.tokens_of(text)}

    prompts = tuple(tuple(ids) for ids in prompt_ids(how.text, tokenizer, "the server"))
    gamma, by_request = _drafting(kind, server, prompts[:1], how)
    if how.p_mins and not by_request:
        raise ValueError("p-min needs a server that takes its settings by request, got another one")
    how = replace(how, together=by_request)
    setup = {"engine": kind.name, "model": server.model or ""}
    with Bench(Reached(server, by_request=by_request), kind, prompts, how) as bench:
        bench.progress = progress
        search = Search(bench, setup, DRAFT, shown, costs)
        if how.dry_run:
            return search.expected()
        if by_request:
            return search.run()
        sentence = f"The server drafts {gamma} tokens a block, and is measured as it runs."
        now = search.outlook(how.concurrencies[0])
        shown(now, sentence)
        for row in bench.measure([gamma], how.concurrencies, search.next_turn):
            search.add(row)
        tuned = search.tuned
        if tuned.next_gamma is None:
            return tuned
        wanted = now.advised(tuned.next_gamma, None)
        flags = bench.flags([wanted], DRAFT)
        note = f"Restart the server with gamma {tuned.next_gamma} and call this again:\n{flags}"
        return msgspec.structs.replace(tuned, notes=(note,), flags="")


def _kind(url: str, name: str | None) -> EngineKind:
    reached = names_of(lambda kind: kind.connect)
    if name is not None and name not in reached:
        raise ValueError(f"a running server must be {listed(reached)}, got {name}")
    if not healthy(url):
        raise ConnectionError(f"no server answers at {url}/health")
    for each, page, key in PAGES:
        if name in (None, each):
            try:
                found = json.loads(get_text(url + page, timeout_seconds=PAGE_SECONDS))
            except (ValueError, OSError):
                continue
            if isinstance(found, dict) and key in found:
                return engine_kinds()[each]
    raise ValueError(f"server must be {listed(reached)}, got none of their pages at {url}")


def _drafting(
    kind: EngineKind, server: EngineServer, prompts: Prompts, how: Tuning
) -> tuple[int, bool]:
    """Returns the tokens per block that a server drafts, and whether requests can change them."""

    def probe(of: EngineServer) -> EngineRun:
        return run(
            of,
            prompts,
            speculative=True,
            max_new_tokens=how.text.max_new_tokens,
            temperature=how.temperature,
            concurrency=1,
            seed=how.seed,
            progress=lambda: None,
        )

    try:
        found = probe(server)
    except ValueError as error:
        if "speculation is off" in str(error):
            return 0, False
        raise
    total = found.total
    if total.drafted == 0:
        return 0, False
    if isinstance(server, LlamaCppServer):
        try:
            for asked in PROBED:
                require_obeyed(probe(LlamaCppServer(server.url, gamma=asked)), asked, kind)
        except NotObeyedError:
            pass  # It drafts its own number.
        else:
            return PROBED[-1], True
    gamma = len(total.by_position) or math.ceil(total.drafted / total.drafts)
    try:
        require_obeyed(found, gamma, kind)
    except NotObeyedError as error:
        raise ValueError(
            "the server must draft the same number of tokens in every block to be tuned "
            f"(llama.cpp: --spec-draft-p-min 0), got {total.drafted / total.drafts:.1f} of {gamma}"
        ) from error
    return gamma, False
