"""The cost of blockwise parallel decoding: heads draft a block while the last one is verified.

Kim et al. 2024 (blockwise drafts), after Stern et al. 2018: h heads on the target predict the next
h tokens (the first head is the target's own), and one call verifies p candidate drafts of h tokens
and emits B tokens (the block efficiency). Bytes read are divided by B; operations count every
verified token.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import integers, non_negative, same_shape


def parameter_bytes_per_token(
    parameter_bytes: ArrayLike, *, block_efficiency: ArrayLike
) -> NDArray[np.float64]:
    """Returns the bytes of weights read for each token emitted.

        parameter_bytes / B                   (Kim et al. 2024, Table 11, "Parameter I/O")

    parameter_bytes: bytes of the target, and of a neural rescorer if one is used.
    block_efficiency: B, emitted tokens per call, at least 1.
    """
    moved = non_negative("parameter_bytes", parameter_bytes)
    efficiency = _efficiency(block_efficiency)
    same_shape({"parameter_bytes": moved, "block_efficiency": efficiency})
    return np.asarray(moved / efficiency)[()]


def cache_bytes_per_token(
    cache_bytes: ArrayLike,
    *,
    context: ArrayLike,
    drafts: ArrayLike,
    heads: ArrayLike,
    block_efficiency: ArrayLike,
) -> NDArray[np.float64]:
    """Returns the bytes of the key–value cache moved for each token emitted.

        kv · (L + p·h) / B                    (Kim et al. 2024, Table 11, "KV Cache I/O")

    A call reads the cache of the preceding L tokens and writes p drafts of h tokens. The paper
    prints no formula; this one reproduces its 24 numbers to the printed digits.

    Args:
      cache_bytes: kv, cached bytes per token, a neural rescorer's included.
      context: L, tokens in the cache.
      drafts: p, candidates verified in parallel; 0 for plain autoregressive decoding.
      heads: h, tokens of each draft.
      block_efficiency: B, at least 1; all broadcast together.
    """
    length = integers("context", context)
    verified = verified_tokens(drafts, heads=heads)
    held = non_negative("cache_bytes", cache_bytes)
    efficiency = _efficiency(block_efficiency)
    same_shape(
        {
            "context": length,
            "drafts · heads": verified,
            "cache_bytes": held,
            "block_efficiency": efficiency,
        }
    )
    return np.asarray(held * (length + verified) / efficiency)[()]


def flops_per_token(
    flops: ArrayLike, *, drafts: ArrayLike, heads: ArrayLike, block_efficiency: ArrayLike
) -> NDArray[np.float64]:
    """Returns the operations spent for each token emitted, with a warm cache.

        flops · p·h / B

    As in Theorem 10 of Leviathan et al. 2023, every verified token counts, accepted or not. (Kim et
    al. 2024, Table 11, count differently: their FLOPS fall with B.)

    Args:
      flops: operations of the target for one token, about 2 for each of its parameters.
      drafts: p, candidates verified in parallel, at least 1.
      heads: h, tokens of each draft.
      block_efficiency: B, at least 1; all broadcast together.
    """
    tokens = verified_tokens(integers("drafts", drafts, at_least=1), heads=heads)
    work, efficiency = non_negative("flops", flops), _efficiency(block_efficiency)
    same_shape({"flops": work, "drafts · heads": tokens, "block_efficiency": efficiency})
    return np.asarray(work * tokens / efficiency)[()]


def verified_tokens(drafts: ArrayLike, *, heads: ArrayLike) -> NDArray[np.int64]:
    """Returns p·h, the number of tokens that one call reads for p drafts of h tokens."""
    candidates, length = integers("drafts", drafts), integers("heads", heads, at_least=1)
    same_shape({"drafts": candidates, "heads": length})
    return np.asarray(candidates * length)


def _efficiency(value: ArrayLike) -> NDArray[np.float64]:
    efficiency = non_negative("block_efficiency", value)
    if (efficiency < 1).any():
        raise ValueError(f"block_efficiency must be at least 1, got {efficiency.min()}")
    return efficiency
