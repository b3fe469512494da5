"""Parses the n-gram lines of ARPA files: many at once, or one by one if a line is unusual."""

import math
import re

import numpy as np
from numpy.typing import NDArray

from ngram.rows.words import BEGIN, END, NAMES, UNKNOWN, Grams, word_name

# Numbers in place of the named words while a piece of a file is parsed as integers.
STAND_INS = {word: np.iinfo(np.int32).max - place for place, word in enumerate(NAMES)}
MAX_ID = min(STAND_INS.values()) - 1
CODES = {name: word for word, name in NAMES.items()}

TAB, NEWLINE, SPACE, ZERO = b"\t\n 0"
TOKEN_ID = re.compile(rb"0|[1-9][0-9]{0,9}")


Parsed = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]
"""Words, shape (lines, order), log10 probabilities, and log10 back-off weights (0 where none)."""


class LineError(ValueError):
    """An invalid line: its number in the piece, from 0, and the reason."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def parse_lines(piece: bytes, *, order: int, highest: bool) -> Grams:
    """Returns the n-grams of whole lines, each with its newline.

    highest: whether this is the model's highest order, which has no back-off weights.
    """
    lines = _parse_together(piece, order)
    if lines is None or _wrong(lines, order=order, highest=highest).any():
        lines = _parse_each(piece, order=order, highest=highest)
    words, probability, backoff = lines
    return Grams(words, probability, None if highest else backoff)


def _parse_together(piece: bytes, order: int) -> Parsed | None:
    """Returns the content of lines; None if one of them differs from our writer's style."""
    bytes_ = np.frombuffer(piece, np.uint8)
    newlines = np.flatnonzero(bytes_ == NEWLINE)
    tabs = np.flatnonzero(bytes_ == TAB)
    through = np.searchsorted(tabs, newlines)
    fields = np.diff(through, prepend=0)
    if len(newlines) == 0 or piece[-1] != NEWLINE or not ((fields == 1) | (fields == 2)).all():
        return None
    first = tabs[through - fields]
    second = np.where(fields == 2, tabs[through - 1], newlines)
    edges = np.zeros(len(bytes_), np.int8)
    edges[first] = 1
    edges[second] = -1
    inside = np.cumsum(edges, dtype=np.int8).view(bool)
    spaces = np.flatnonzero(bytes_ == SPACE)
    between = np.searchsorted(spaces, second) - np.searchsorted(spaces, first)
    if (between != order - 1).any() or len(spaces) != between.sum():
        return None

    words = _integers(np.where(inside, bytes_, SPACE))
    numbers = _floats(np.where(inside, SPACE, bytes_))
    if words is None or len(words) != len(newlines) * order:
        return None
    if numbers is None or len(numbers) != fields.sum():
        return None
    at = np.cumsum(fields) - fields
    backoff = np.zeros(len(newlines))
    backoff[fields == 2] = numbers[at[fields == 2] + 1]
    return words.reshape(-1, order), numbers[at], backoff


def _integers(words: NDArray[np.uint8]) -> NDArray[np.int32] | None:
    """Returns the words of all lines; None if one is neither an id nor a special word."""
    text = words.tobytes()
    for word, stand_in in STAND_INS.items():
        name, digits = word_name(word).encode(), str(stand_in).encode()
        if digits in text:
            return None
        text = text.replace(name, digits)
    if text.translate(None, b"0123456789 \t"):
        return None
    # A leading zero is another spelling of an id.
    digit = words >= ZERO
    if ((words[1:-1] == ZERO) & ~digit[:-2] & digit[2:]).any():
        return None
    values = np.fromstring(text, dtype=np.int64, sep=" ")
    if len(values) == 0 or values.max() > np.iinfo(np.int32).max:
        return None
    ids = values.astype(np.int32)
    if ids.max() > MAX_ID:
        for word, stand_in in STAND_INS.items():
            ids[ids == stand_in] = word
        if ids.max() > MAX_ID:
            return None
    return ids


def _floats(numbers: NDArray[np.uint8]) -> NDArray[np.float64] | None:
    text = numbers.tobytes()
    if text.translate(None, b"0123456789.+-eE \t\n"):
        return None
    try:
        return np.array(text.split(), dtype=np.float64)
    except ValueError:
        return None


def _wrong(lines: Parsed, *, order: int, highest: bool) -> NDArray[np.bool_]:
    """Returns which lines have values that no model can have, shape (lines,)."""
    words, probability, backoff = lines
    wrong = ~np.isfinite(probability) | (probability > 0) | ~np.isfinite(backoff)
    if highest:
        wrong |= backoff != 0
    if order > 1:
        wrong |= (words == UNKNOWN).any(axis=1)
        wrong |= (words[:, 1:] == BEGIN).any(axis=1)
        wrong |= (words[:, :-1] == END).any(axis=1)
    return wrong


def _parse_each(piece: bytes, *, order: int, highest: bool) -> Parsed:
    """Returns the content of lines, parsed one by one.

    Raises LineError at the first wrong line.
    """
    words, probabilities, backoffs = [], [], []
    for number, line in enumerate(piece.splitlines()):
        try:
            fields = line.split()
            if not order + 1 <= len(fields) <= order + 2:
                raise ValueError(
                    f"a line of {order}-grams must have a log probability, {order} words and at "
                    f"most one back-off weight, got {len(fields)} fields"
                )
            probabilities.append(_number(fields[0], "log10 probability"))
            words.append([_word(field) for field in fields[1 : order + 1]])
            backoffs.append(
                _number(fields[-1], "back-off weight") if len(fields) == order + 2 else 0.0
            )
            _check_values(words[-1], probabilities[-1], backoffs[-1], highest=highest)
        except ValueError as error:
            raise LineError(number, str(error)) from error
    ids = np.array(words, np.int32).reshape(-1, order)
    return ids, np.array(probabilities), np.array(backoffs)


def _number(field: bytes, name: str) -> float:
    text = field.decode("utf-8", "replace")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"a {name} must be a finite number, got {text}")
    return value


def _word(field: bytes) -> int:
    text = field.decode("utf-8", "replace")
    if text in CODES:
        return CODES[text]
    if TOKEN_ID.fullmatch(field) is None or int(field) > MAX_ID:
        raise ValueError(f"a word must be a token id, <unk>, <s> or </s>, got {text}")
    return int(field)


def _check_values(words: list[int], probability: float, backoff: float, *, highest: bool) -> None:
    if probability > 0:
        raise ValueError(f"a log10 probability must be at most 0, got {probability:g}")
    if highest and backoff != 0:
        raise ValueError(f"the highest order has no back-off weights, got {backoff:g}")
    if len(words) > 1 and UNKNOWN in words:
        raise ValueError("<unk> may only be a unigram")
    if BEGIN in words[1:]:
        raise ValueError("<s> may only come first")
    if END in words[:-1]:
        raise ValueError("</s> may only come last")
