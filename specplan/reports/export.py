"""A planned gamma in the words of the servers: the flags that set it there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimator.traces.traces import DraftSampling, Verification


def default_sampling(server: str) -> DraftSampling | None:
    """Returns how a server drafts unless told otherwise; None where its flags can say either.

    vLLM's `draft_sample_method` says it; transformers lets the assistant draw as the target does;
    SGLang and llama.cpp draft the likeliest token, unless llama.cpp's `--spec-draft-sampling` says
    otherwise.
    """
    return _DRAFTS[server]


def judges_blocks(server: str) -> bool:
    """Returns whether a server can judge a draft as a whole (Sun et al. 2024)."""
    return server == "vllm"


def export(
    server: str,
    *,
    gamma: int,
    draft: str,
    sampling: DraftSampling | None = None,
    verification: Verification | None = None,
) -> str:
    """Returns what makes a server draft exactly gamma tokens a block, ready to paste.

    All of them can draft a number of tokens that varies; each is told not to, since a plan for a
    fixed gamma holds for that gamma.

    Args:
      server: a key of EXPORTS.
      gamma: drafted tokens per block; 0 gives a comment that says to leave the draft out.
      draft: name or folder of the draft model.
      sampling: the way of drafting that was planned with; None: not known, the server's default.
      verification: how drafts are judged; "block" for those that `judges_blocks` names alone.
    """
    if gamma == 0:
        return "# gamma is 0: run the target without a draft"
    return EXPORTS[server](gamma, draft, sampling, verification)


def _vllm(
    gamma: int, draft: str, sampling: DraftSampling | None, verification: Verification | None
) -> str:
    config: dict[str, object] = {
        "method": "draft_model",
        "model": draft,
        "num_speculative_tokens": gamma,
    }
    if sampling is not None:
        config["draft_sample_method"] = "greedy" if sampling == "argmax" else "probabilistic"
    if verification == "block":
        config["rejection_sample_method"] = "block"
    return f"--speculative-config {shlex.quote(json.dumps(config))}"


def _transformers(gamma: int, _draft: str, *_: object) -> str:
    # Without the last two lines its own schedule changes gamma while it generates.
    return "\n".join(
        (
            "# before target.generate(..., assistant_model=draft):",
            f"draft.generation_config.num_assistant_tokens = {gamma}",
            'draft.generation_config.num_assistant_tokens_schedule = "constant"',
            "draft.generation_config.assistant_confidence_threshold = 0",
        )
    )


def _tensorrt_llm(gamma: int, draft: str, *_: object) -> str:
    return "\n".join(
        (
            "# in the file of --config:",
            "speculative_config:",
            "  decoding_type: DraftTarget",
            f"  speculative_model: {draft}",
            f"  max_draft_len: {gamma}",
        )
    )


def _llama_cpp(gamma: int, draft: str, sampling: DraftSampling | None, *_: object) -> str:
    # p-min 0: draft on however unsure the draft is. Builds before May 2026 say --draft-max.
    drawn = " --spec-draft-sampling probabilistic" if sampling == "sampled" else ""
    return (
        f"--spec-type draft-simple --model-draft {shlex.quote(draft)}"
        f" --spec-draft-n-max {gamma} --spec-draft-p-min 0{drawn}"
    )


def _sglang(gamma: int, draft: str, *_: object) -> str:
    # top-k 1 makes the draft a chain, and what is verified is that chain and the token before it.
    return (
        f"--speculative-algorithm STANDALONE --speculative-draft-model-path {shlex.quote(draft)}"
        f" --speculative-num-steps {gamma} --speculative-eagle-topk 1"
        f" --speculative-num-draft-tokens {gamma + 1}"
    )


Export = Callable[[int, str, "DraftSampling | None", "Verification | None"], str]
EXPORTS: Mapping[str, Export] = MappingProxyType(
    {
        "vllm": _vllm,
        "transformers": _transformers,
        "llama.cpp": _llama_cpp,
        "sglang": _sglang,
        "tensorrt-llm": _tensorrt_llm,
    }
)
_DRAFTS: Mapping[str, DraftSampling | None] = MappingProxyType(
    {
        "vllm": None,
        "transformers": "sampled",
        "llama.cpp": "argmax",
        "sglang": "argmax",
        "tensorrt-llm": "argmax",
    }
)
