"""ONNX Runtime GenAI: in this process, with the draft set in the target's configuration."""

from engines.kind import Drafted, EngineKind, Exports, later


def _fixed(gamma: int, draft: Drafted, *_: object) -> str:
    return "\n".join(
        (
            f"# genai_config.json: as model.draft, the model.decoder of {draft.name}",
            f"params.set_speculative_options(max_draft_tokens={gamma})",
        )
    )


def _lookup(gamma: int, _shortest: int, longest: int) -> str:
    # It matches the last ngram_size - 1 tokens.
    return f"params.set_speculative_options(ngram_size={longest + 1}, max_draft_tokens={gamma})"


KIND = EngineKind(
    name="onnxruntime",
    title="ONNX Runtime GenAI",
    start=later("engines.servers.onnxruntime:OnnxRuntime.of_models"),
    takes=frozenset({"threads"}),
    # The draft draws as the target does.
    draft_samplings=("sampled",),
    drafts_past_end=True,
    acceptance="engine",
    # A round of one drafted token takes a second pass of the target.
    off_line=frozenset({1}),
    exports=Exports(
        "model.draft",
        _fixed,
        draft_sampling="sampled",
        lookup=_lookup,
        lookup_rule="a match of exactly that length",
    ),
)
