"""Tunes an engine that it starts, specplan's own decoder, or a running server.

If requests to a running server can set γ, the search runs on it. If not, the server gets one run,
and its owner restarts it with another γ.
"""

import json
import math
import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any

import msgspec

from engines.engine import EngineRun, EngineServer, Prompts, Setting, run
from engines.kind import Drafted, EngineKind, Exports, engine_kinds, listed, names_of
from engines.servers.http import get_text
from engines.servers.llama_cpp import LlamaCppServer
from engines.servers.process import healthy
from engines.tuning.bench import Bench
from engines.tuning.outlook import Costs
from engines.tuning.request import TuneEngine, TuneOwn, TuneServer, Tuning
from engines.tuning.search import Search, Shown
from engines.tuning.tuned import SPECULATING, Tuned
from estimator.draft_names.kind import one_draft
from estimator.progress import SILENT, Progress, stage
from estimator.prompts.prompts import prompt_ids
from estimator.timing.machine import machine
from estimator.timing.threads import chosen_threads, computing, require_one_process
from reference.models.embedded import EMBEDDED, embedded_tokenizer

# A page of each kind of server, and a key that it has.
PAGES = (("llama.cpp", "/props", "build_info"), ("vllm", "/version", "version"))
PAGE_SECONDS = 10.0
# Users name it by naming no engine.
OWN = EngineKind(name="own", title="specplan's own decoder", drafts_with_prompt=True)
# γ that requests name to see whether the server takes any.
PROBED = (1, 3)
DRAFT = "DRAFT"
# A bench, the settings that its runs share, and the draft's name.
Ready = Iterator[tuple[Bench, dict[str, str], str]]


def tune(
    request: TuneEngine | TuneOwn | TuneServer,
    *,
    progress: Progress = SILENT,
    shown: Shown = lambda *_: None,
    costs: Costs | None = None,
) -> Tuned:
    """Returns the runs of a tuning and the advised γ; see `Search`.

    If requests to a running server cannot set γ, the server is measured once, at its own γ. Refuses
    a server of an unknown kind, and one that drafts different numbers of tokens in its blocks.
    """
    require_one_process("tune")
    ready = {TuneEngine: _engine, TuneOwn: _own, TuneServer: _server}[type(request)]
    with ready(request) as (bench, setup, draft):  # type: ignore[operator]
        bench.progress = progress
        search = Search(bench, setup, draft, shown, costs)
        if request.how.dry_run:
            return search.expected()
        if bench.fixed is not None:
            return _as_it_runs(search, bench.fixed, shown)
        return search.run()


def _generating(target: str, temperature: float) -> EngineKind:
    """Returns specplan's own decoder; its flags are a command that decodes as it was tuned."""

    def fixed(gamma: int, draft: Drafted, _: object, p_min: float | None) -> str:
        if p_min:  # `generate` has no such threshold
            return ""
        words = ["--target", target, "--draft", draft.name, "--temperature", f"{temperature:g}"]
        return f"specplan generate {shlex.join(words)} --gamma {gamma}"

    return replace(OWN, exports=Exports("", fixed, None))


@contextmanager
def _engine(request: TuneEngine) -> Ready:
    kind = request.kind
    how, way = request.how, request.draft_sampling
    with request.ready(how.max_gamma) as (pair, engine):
        prompts = pair.prompts[: how.text.num_prompts]
        setup = {"engine": kind.name, "target": pair.target_name, "draft": pair.draft_name,
                 "draft_sampling": way, "flags": " ".join(engine.flags),
                 "machine": machine()}  # fmt: skip
        with Bench(
            engine.serve, kind, prompts, how, together=request.together, draft_sampling=way
        ) as bench:
            yield bench, setup, pair.draft_name


@contextmanager
def _own(request: TuneOwn) -> Ready:
    models, how = request.models, request.how
    draft, target = one_draft(models), EMBEDDED if models.target is None else models.target
    setup = {"engine": OWN.name, "target": target, "draft": draft, "machine": machine()}
    if how.dry_run and target == draft == EMBEDDED and not how.text.chat:
        setup["flags"] = f"threads={chosen_threads(request.threads)}"
        known = tuple(map(tuple, prompt_ids(how.text, embedded_tokenizer(), target)))
        none: Any = nullcontext  # a dry run serves nothing
        with Bench(none, _generating(target, how.temperature), known, how) as bench:
            yield bench, setup, draft
        return
    from engines.servers.in_process import OwnServer
    from estimator.loading.pairs import load
    from reference.speculative import Subject

    sampling = request.sampling.at(how.temperature)
    with computing(models.device, request.threads) as threads:
        with stage("loading the models"):
            loaded = load(models, how.text, sampling=request.sampling)
        [drafter_of] = loaded.drafters.values()
        # An end-of-text token does not end a text.
        stopping = replace(loaded.stopping, end_ids=frozenset())
        subject = Subject(loaded.target, drafter_of(sampling), sampling, stopping)
        prompts = tuple(tuple(ids) for ids in loaded.prompts)
        setup["flags"] = f"threads={threads.count}"
        decoder = _generating(target, how.temperature)
        with Bench(
            lambda setting: nullcontext(OwnServer(subject, setting)), decoder, prompts, how
        ) as bench:
            yield bench, setup, draft


@contextmanager
def _server(request: TuneServer) -> Ready:
    url, how = request.server.rstrip("/").removesuffix("/v1"), request.how
    kind = _kind(url, request.engine)
    assert kind.connect is not None  # _kind gives no others
    server: Any = kind.connect(url)
    if how.text.chat:
        raise ValueError("chat needs a tokenizer here, which `server` does not give")

    def tokenizer(text: str) -> dict[str, list[int]]:
        return {"input_ids": server.tokens_of(text)}

    prompts = tuple(tuple(ids) for ids in prompt_ids(how.text, tokenizer, "the server"))
    gamma, by_request = _drafting(kind, server, prompts[:1], how)
    if how.p_mins and not by_request:
        raise ValueError("p-min needs a server that takes its settings by request, got another one")
    setup = {"engine": kind.name, "model": server.model or ""}
    if by_request:
        setup["zero"] = SPECULATING

    def serve(setting: Setting) -> AbstractContextManager[EngineServer]:
        by_answer = LlamaCppServer(server.url, gamma=setting.gamma, p_min=setting.p_min)
        return nullcontext(by_answer if by_request else server)

    with Bench(serve, kind, prompts, how, together=by_request) as bench:
        bench.fixed = None if by_request else gamma
        yield bench, setup, DRAFT


def _as_it_runs(search: Search, gamma: int, shown: Shown) -> Tuned:
    """Measures a server at its fixed γ; returns the tuning, with flags for a better γ if any."""
    concurrencies = search.how.concurrencies
    now = search.outlook(concurrencies[0])
    shown(now, f"The server drafts {gamma} tokens a block, and is measured as it runs.")
    for row in search.bench.measure([(gamma, 0.0)], concurrencies, search.next_turn):
        search.add(row)
    tuned = search.tuned
    if tuned.next_gamma is None:
        return tuned
    flags = search.bench.flags([now.advised(tuned.next_gamma, None)], DRAFT)
    note = f"Restart the server with gamma {tuned.next_gamma} and call this again:\n{flags}"
    return msgspec.structs.replace(tuned, notes=(note,), flags="")


def _kind(url: str, name: str | None) -> EngineKind:
    reached = names_of(lambda kind: kind.connect)
    if name is not None and name not in reached:
        raise ValueError(f"a running server must be {listed(reached)}, got {name}")
    if not healthy(url):
        raise ConnectionError(f"no server answers at {url}/health")
    for engine, page, key in PAGES:
        if name in (None, engine):
            with suppress(ValueError, OSError, TypeError):  # no page, or no JSON object
                if key in json.loads(get_text(url + page, timeout_seconds=PAGE_SECONDS)):
                    return engine_kinds()[engine]
    raise ValueError(f"server must be {listed(reached)}, got none of their pages at {url}")


def _drafting(
    kind: EngineKind, server: EngineServer, prompts: Prompts, how: Tuning
) -> tuple[int, bool]:
    """Returns a server's drafted tokens per block, and whether requests can set this number."""

    def probe(of: EngineServer) -> EngineRun:
        case, tokens = (how.temperature, 1), how.text.max_new_tokens
        return run(of, prompts, case, how.seed, speculative=True, max_new_tokens=tokens)

    try:
        probed = probe(server)
    except ValueError as error:
        if "speculation is off" in str(error):
            return 0, False
        raise
    total = probed.total
    if total.drafted == 0:
        return 0, False
    if isinstance(server, LlamaCppServer) and all(
        probe(LlamaCppServer(server.url, gamma=gamma)).obeys(gamma, drafts_past_end=False)
        for gamma in PROBED
    ):
        return PROBED[-1], True
    gamma = len(total.by_position) or math.ceil(total.mean_drafted)
    if not probed.obeys(gamma, drafts_past_end=kind.drafts_past_end):
        raise ValueError(
            "the server must draft the same number of tokens in every block to be tuned "
            f"(llama.cpp: --spec-draft-p-min 0), got {total.mean_drafted:.1f} of {gamma}"
        )
    return gamma, False
