"""A planned gamma of a lookup drafter in the words of the servers that look up, too.

Ours copies what followed the most recent match of the text's last N, else N-1, …, else 1 tokens.
vLLM and transformers look for the longest match likewise; llama.cpp and TensorRT-LLM for one of N.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from types import MappingProxyType


def export_lookup(server: str, *, gamma: int, longest: int) -> str:
    """Returns what makes a server draft at most gamma tokens by lookup, ready to paste.

    Args:
      server: a key of specplan.reports.export.EXPORTS.
      gamma: drafted tokens per block; 0 gives a comment that says to look nothing up.
      longest: N, how many tokens a match may have.

    Raises:
      ValueError: if the server has no such lookup; the message lists those that have.
    """
    if server not in LOOKUP_EXPORTS:
        known = ", ".join(LOOKUP_EXPORTS)
        raise ValueError(f"--export of a lookup must be one of {known}, got {server}")
    if gamma == 0:
        return "# gamma is 0: run the target without a lookup"
    return LOOKUP_EXPORTS[server](gamma, longest)


def _vllm(gamma: int, longest: int) -> str:
    config = {
        "method": "ngram",
        "num_speculative_tokens": gamma,
        "prompt_lookup_max": longest,
        "prompt_lookup_min": 1,
    }
    return f"--speculative-config {shlex.quote(json.dumps(config))}"


def _transformers(gamma: int, longest: int) -> str:
    sizes = f"prompt_lookup_num_tokens={gamma}, max_matching_ngram_size={longest}"
    return f"target.generate(..., {sizes})"


def _llama_cpp(gamma: int, longest: int) -> str:
    return (
        f"--spec-type ngram-simple --spec-ngram-simple-size-n {longest}"
        f" --spec-ngram-simple-size-m {gamma} --spec-ngram-simple-min-hits 1"
    )


def _tensorrt_llm(gamma: int, longest: int) -> str:
    return "\n".join(
        (
            "# in the file of --config:",
            "speculative_config:",
            "  decoding_type: NGram",
            f"  max_draft_len: {gamma}",
            f"  max_matching_ngram_size: {longest}",
        )
    )


LOOKUP_EXPORTS: Mapping[str, Callable[[int, int], str]] = MappingProxyType(
    {
        "vllm": _vllm,
        "transformers": _transformers,
        "llama.cpp": _llama_cpp,
        "tensorrt-llm": _tensorrt_llm,
    }
)
