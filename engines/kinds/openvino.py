"""OpenVINO GenAI: in this process, as a pipeline of a target and a draft model."""

from engines.kind import Drafted, EngineKind, Exports, PrintedCounts, later


def _fixed(gamma: int, draft: Drafted, _rule: object, p_min: float | None) -> str:
    stop = [] if p_min is None else [f"config.assistant_confidence_threshold = {p_min:g}"]
    return "\n".join(
        (
            f'# LLMPipeline(target, device, draft_model=draft_model("{draft.name}", device))',
            f"config.num_assistant_tokens = {gamma}",
            *stop,
        )
    )


def _lookup(gamma: int, _shortest: int, longest: int) -> str:
    return "\n".join(
        (
            "# LLMPipeline(target, device, prompt_lookup=True)",
            f"config.num_assistant_tokens = {gamma}",
            f"config.max_ngram_size = {longest}",
        )
    )


KIND = EngineKind(
    name="openvino",
    title="OpenVINO GenAI",
    start=later("engines.servers.openvino:OpenVino.of_models"),
    takes=frozenset({"threads"}),
    # The draft draws as the target does.
    draft_samplings=("sampled",),
    acceptance="engine",
    prints=(PrintedCounts("log", ("Num accepted token:",), "openvino:read_log"),),
    exports=Exports("draft_model", _fixed, draft_sampling="sampled", lookup=_lookup),
)
