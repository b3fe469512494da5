"""MLX: `mlx_lm` on Apple machines, in this process."""

import shlex

from engines.kind import Drafted, EngineKind, Exports, PrintedCounts, later


def _fixed(gamma: int, draft: Drafted, *_: object) -> str:
    return f"--draft-model {shlex.quote(draft.name)} --num-draft-tokens {gamma}"


KIND = EngineKind(
    name="mlx",
    title="MLX",
    start=later("engines.servers.mlx:Mlx.of_models"),
    # The draft draws by the target's sampler.
    draft_samplings=("sampled",),
    drafts_with_prompt=True,
    acceptance="counts",
    prints=(
        PrintedCounts("JSON", ("timings.draft_kind",), "mlx_vlm:read_answer", "MLX-VLM's answers"),
    ),
    exports=Exports("--draft-model", _fixed, draft_sampling="sampled"),
)
