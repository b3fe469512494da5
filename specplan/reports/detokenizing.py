"""Text of a few tokens in the midst of others: spaces and characters may hang on neighbours."""

from collections.abc import Callable, Sequence

Decode = Callable[[Sequence[int]], str]

# A character is at most 4 bytes, so as many tokens; a word's space is in the token before.
CONTEXT = 8
UNFINISHED = "\ufffd"


def piece(decode: Decode, before: Sequence[int], tokens: Sequence[int]) -> str:
    """Returns the text that ids add to those before them, of which the last CONTEXT count."""
    context = list(before[-CONTEXT:])
    head = decode(context).rstrip(UNFINISHED)
    whole = decode([*context, *tokens])
    return whole[len(head) :] if whole.startswith(head) else decode(tokens)


class TextStream:
    """Text as its tokens come: a character goes out when all of its bytes are there."""

    def __init__(self, decode: Decode, before: Sequence[int]) -> None:
        """Begins after the ids `before`, whose text is not the stream's to give."""
        self._decode = decode
        self._before = list(before)
        self._waiting: list[int] = []

    def add(self, tokens: Sequence[int]) -> str:
        """Returns the text that these tokens and those still waiting make, or none yet."""
        self._waiting += tokens
        text = piece(self._decode, self._before, self._waiting)
        if text.endswith(UNFINISHED):
            return ""
        self._before += self._waiting
        self._waiting = []
        return text

    def rest(self) -> str:
        """Returns the text of the tokens that still wait for others."""
        return piece(self._decode, self._before, self._waiting)
