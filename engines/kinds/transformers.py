"""transformers: `generate` with an assistant model, in this process."""

from engines.kind import EARLIEST, Drafted, EngineKind, Exports, later


def _fixed(gamma: int, _draft: Drafted, _rule: object, p_min: float | None) -> str:
    # Without the last two lines its own schedule changes gamma while it generates.
    # AssistedCandidateGenerator.update_candidate_strategy uses the ROC curve of its own drafts.
    tuned = "# with scikit-learn installed, transformers changes this threshold as it generates"
    return "\n".join(
        (
            "# before target.generate(..., assistant_model=draft):",
            f"draft.generation_config.num_assistant_tokens = {gamma}",
            'draft.generation_config.num_assistant_tokens_schedule = "constant"',
            *(
                []
                if p_min is None
                else [f"draft.generation_config.assistant_confidence_threshold = {p_min:g}"]
            ),
            *([tuned] if p_min else []),
        )
    )


def _lookup(gamma: int, shortest: int, longest: int) -> str:
    if shortest > 1:
        raise ValueError(f"transformers looks up matches of 1 token and more, got {shortest}")
    sizes = f"prompt_lookup_num_tokens={gamma}, max_matching_ngram_size={longest}"
    return f"target.generate(..., {sizes})"


KIND = EngineKind(
    name="transformers",
    title="transformers",
    start=later("engines.servers.in_process:Transformers.of_models"),
    takes=frozenset({"threads"}),
    # The assistant draws as the target does.
    draft_samplings=("sampled",),
    drafts_with_prompt=True,
    exports=Exports(
        "assistant_model",
        _fixed,
        draft_sampling="sampled",
        stopping="transformers",
        lookup=_lookup,
        lookup_rule=EARLIEST,
    ),
)
