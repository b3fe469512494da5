"""Tokens per call of a tree of likeliest choices along a text, followed child by child."""

from collections.abc import Sequence


def calls_along(ranks: Sequence[int], parents: Sequence[int], limit: int) -> list[int]:
    """Returns how many tokens each call yields.

    Args:
      ranks: which of the draft's choices each of the text's tokens is, from 0.
      limit: the decoder's max_new_tokens.
    """
    calls: list[int] = []
    start = 0
    while start < len(ranks):
        node, length = -1, 0
        while True:
            children = [place for place, parent in enumerate(parents) if parent == node]
            at = start + length
            if at >= len(ranks) or length >= limit - start - 1 or ranks[at] >= len(children):
                break
            node, length = children[ranks[at]], length + 1
        calls.append(min(length + 1, len(ranks) - start))
        start += calls[-1]
    return calls
