"""llama.cpp: a server that counts accepted tokens and cannot score given texts."""

import shlex

from engines.kind import Drafted, EngineKind, Exports, PrintedCounts, later, methods_of


def _fixed(gamma: int, draft: Drafted, _: object, p_min: float | None) -> str:
    # p-min 0: draft on however unsure the draft is. Builds before May 2026 say --draft-max.
    stop = "" if p_min is None else f" --spec-draft-p-min {p_min:g}"
    drawn = " --spec-draft-sampling probabilistic" if draft.sampling == "sampled" else ""
    model = ""
    if draft.file is not None and draft.file.startswith("hf:"):
        model = f" --spec-draft-hf {shlex.quote(draft.file.removeprefix('hf:'))}"
    elif draft.file is not None:
        model = f" --model-draft {shlex.quote(draft.file)}"
    return (
        f"--spec-type {methods_of('llama.cpp')[draft.kind]}{model}"
        f" --spec-draft-n-max {gamma}{stop}{drawn}"
    )


def _lookup(gamma: int, _shortest: int, longest: int) -> str:
    return (
        f"--spec-type ngram-simple --spec-ngram-simple-size-n {longest}"
        f" --spec-ngram-simple-size-m {gamma} --spec-ngram-simple-min-hits 1"
    )


KIND = EngineKind(
    name="llama.cpp",
    title="llama.cpp",
    start=later("engines.servers.llama_cpp:LlamaCpp.of_models"),
    connect=later("engines.servers.llama_cpp:LlamaCppServer"),
    takes=frozenset({"gguf", "synthetic", "threads"}),
    acceptance="counts",
    prints=(
        PrintedCounts("metrics", ("llamacpp:",), "llama_cpp:read_page"),
        PrintedCounts("log", ("draft acceptance", "#calls"), "llama_cpp:read_log"),
        PrintedCounts("JSON", ("timings", "predicted_n"), "llama_cpp:read_timings", "llama.cpp"),
    ),
    # The likeliest token, unless --spec-draft-sampling says otherwise.
    exports=Exports(
        "draft-simple",
        _fixed,
        draft_sampling="argmax",
        stopping="llama.cpp",
        controller="--spec-type draft-mtp-adaptive (only MTP; pull request 27210, open in 2026); "
        "in the fork ik_llama.cpp --spec-autotune (tries n_max, n_min and p_min on requests)",
        lookup=_lookup,
        former=(
            ("--spec-type draft-simple ", ""),
            ("--spec-draft-n-max", "--draft-max"),
            ("--spec-draft-p-min", "--draft-p-min"),
        ),
        lookup_rule="the latest match of exactly that length, if as many tokens follow it",
    ),
)
