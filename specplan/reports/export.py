"""A planned gamma in the words of the servers: the flags that set it there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from types import MappingProxyType


def export(server: str, *, gamma: int, draft: str) -> str:
    """Returns what makes a server draft exactly gamma tokens a block, ready to paste.

    All of them can draft a number of tokens that varies; each is told not to, since a plan for a
    fixed gamma holds for that gamma.

    Args:
      server: a key of EXPORTS.
      gamma: drafted tokens per block; 0 gives a comment that says to leave the draft out.
      draft: name or folder of the draft model.
    """
    if gamma == 0:
        return "# gamma is 0: run the target without a draft"
    return EXPORTS[server](gamma, draft)


def _vllm(gamma: int, draft: str) -> str:
    config = {"method": "draft_model", "model": draft, "num_speculative_tokens": gamma}
    return f"--speculative-config {shlex.quote(json.dumps(config))}"


def _transformers(gamma: int, _draft: str) -> str:
    # Without the last two lines its own schedule changes gamma while it generates.
    return "\n".join(
        (
            "# before target.generate(..., assistant_model=draft):",
            f"draft.generation_config.num_assistant_tokens = {gamma}",
            'draft.generation_config.num_assistant_tokens_schedule = "constant"',
            "draft.generation_config.assistant_confidence_threshold = 0",
        )
    )


def _llama_cpp(gamma: int, draft: str) -> str:
    # p-min 0: draft on however unsure the draft is. Builds before May 2026 say --draft-max.
    return (
        f"--spec-type draft-simple --model-draft {shlex.quote(draft)}"
        f" --spec-draft-n-max {gamma} --spec-draft-p-min 0"
    )


def _sglang(gamma: int, draft: str) -> str:
    # top-k 1 makes the draft a chain, and what is verified is that chain and the token before it.
    return (
        f"--speculative-algorithm STANDALONE --speculative-draft-model-path {shlex.quote(draft)}"
        f" --speculative-num-steps {gamma} --speculative-eagle-topk 1"
        f" --speculative-num-draft-tokens {gamma + 1}"
    )


EXPORTS: Mapping[str, Callable[[int, str], str]] = MappingProxyType(
    {
        "vllm": _vllm,
        "transformers": _transformers,
        "llama.cpp": _llama_cpp,
        "sglang": _sglang,
    }
)
