"""llama.cpp: its server, which counts what it accepts and scores no given text."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engines.kind import EngineKind, Exports, Models, Printed

if TYPE_CHECKING:
    from engines.engine import Engine, Server
    from engines.observing.observation import Observation
    from engines.settings import EngineSettings
    from estimator.traces.traces import DraftSampling


def _start(models: Models, settings: EngineSettings) -> Engine:
    from engines.servers.llama_cpp import LlamaCpp

    return LlamaCpp.of_folders(
        models.target,
        models.draft,
        folder=models.folder,
        positions=models.positions,
        threads=settings.threads,
    )


def _connect(url: str) -> Server:
    from engines.servers.llama_cpp import LlamaCppServer

    return LlamaCppServer(url)


def _metrics(page: str, gamma: int | None) -> Observation:
    from engines.observing.pages import observed_page
    from engines.servers.llama_cpp import TURNS_ON

    return observed_page(
        page, kind=KIND.name, prefix="llamacpp", turns_on=TURNS_ON, gamma=gamma, lists_all=False
    )


def _timings(answer: Mapping[str, Any], gamma: int | None) -> Observation:
    from engines.observing.llama_cpp import read_timings
    from engines.servers.llama_cpp import TURNS_ON

    return read_timings(answer, gamma, turns_on=TURNS_ON)


def _fixed(gamma: int, draft: str, sampling: DraftSampling | None, *_: object) -> str:
    # p-min 0: draft on however unsure the draft is. Builds before May 2026 say --draft-max.
    drawn = " --spec-draft-sampling probabilistic" if sampling == "sampled" else ""
    return (
        f"--spec-type draft-simple --model-draft {shlex.quote(draft)}"
        f" --spec-draft-n-max {gamma} --spec-draft-p-min 0{drawn}"
    )


def _lookup(gamma: int, longest: int) -> str:
    return (
        f"--spec-type ngram-simple --spec-ngram-simple-size-n {longest}"
        f" --spec-ngram-simple-size-m {gamma} --spec-ngram-simple-min-hits 1"
    )


KIND = EngineKind(
    name="llama.cpp",
    title="llama.cpp",
    start=_start,
    connect=_connect,
    takes=frozenset({"threads"}),
    acceptance="counts",
    prints=(
        Printed("metrics", ("llamacpp",), _metrics),
        Printed("JSON", ("timings", "predicted_n"), _timings, "llama.cpp"),
    ),
    # The likeliest token, unless --spec-draft-sampling says otherwise.
    exports=Exports(_fixed, draft_sampling="argmax", lookup=_lookup),
)
