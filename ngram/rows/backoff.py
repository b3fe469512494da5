"""N-grams of token ids, and a back-off model as sorted arrays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Codes of the special words; they index the last three entries of an array of length tokens + 3.
UNKNOWN = -3
BEGIN = -2
END = -1

NAMES = {UNKNOWN: "<unk>", BEGIN: "<s>", END: "</s>"}
MAX_ORDER = 6


def check_order(order: int) -> None:
    """Refuses an order of n-grams outside 1 to 6, the limit of KenLM's programs."""
    if not 1 <= order <= MAX_ORDER:
        raise ValueError(f"order must lie in [1, {MAX_ORDER}], got {order}")


def word_name(word: int) -> str:
    """Returns the spelling, in an ARPA file, of a token id or of a special word's code."""
    return NAMES[word] if word < 0 else str(word)


@dataclass(frozen=True, slots=True)
class Grams:
    """All n-grams of one order, not sorted.

    words: token ids, or negative codes of special words, shape (n, order), int32.
    log10_probability: probability of the last word given the words before it, shape (n,), float64.
    log10_backoff: back-off weight of the n-gram as a context, shape (n,), float64; None for a
      model's highest order.
    first_line: number of the line that holds the first n-gram in its file; 0 without a file.
    """

    words: NDArray[np.int32]
    log10_probability: NDArray[np.float64]
    log10_backoff: NDArray[np.float64] | None
    first_line: int = 0

    @property
    def order(self) -> int:
        return int(self.words.shape[1])

    def __len__(self) -> int:
        return len(self.words)


LN10 = float(np.log(10))

_ARRAYS = ("words", "log_probability", "log_backoff", "first")
Keys = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Level:
    """All n-grams of one order (n in number), sorted by their words; logarithms are natural.

    words: last word of each n-gram, shape (n,), int32.
    log_probability: probability of the last word given the words before it, shape (n,), float32.
    log_backoff: back-off weight of each n-gram as a context, shape (n,), float32; empty for the
      highest order.
    first: n-gram i, extended by one word, has entries first[i] to first[i + 1] - 1 of the next
      order; shape (n + 1,), int64; empty for the highest order.
    """

    words: NDArray[np.int32]
    log_probability: NDArray[np.float32]
    log_backoff: NDArray[np.float32]
    first: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BackoffModel:
    """A back-off n-gram model.

        p(w | h) = listed probability of hw, if any;  else backoff(h) p(w | h')    (Katz 1987)

    where h is the context, h' is h without its first word, and backoff(h) is 1 if h is not listed.

    levels: n-grams by order, from 1 up.
    number: index among the unigrams of each token id, then of `<unk>`, `<s>` and `</s>`; -1 if the
      model lacks the word; shape (ids + 3,).
    """

    levels: tuple[Level, ...]
    number: NDArray[np.int32]

    @property
    def order(self) -> int:
        """Number of words in the longest n-grams."""
        return len(self.levels)

    @property
    def ids(self) -> int:
        """The largest token id in the model, plus 1."""
        return len(self.number) - 3

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in pack(self).values())

    def slices(self, context: Sequence[int]) -> list[tuple[float, int, int]]:
        """Returns three numbers for each suffix of a context, the shortest suffix first.

        For a suffix of n words: its log back-off weight (0 if the model lacks the suffix), and the
        indices, first and last + 1, of its continuations among the n-grams of order n + 1.
        """
        levels = []
        for length in range(1, min(len(context), self.order - 1) + 1):
            node = self._unigram(context[-length])
            for depth, place in enumerate(range(1 - length, 0)):
                node = self._child(depth, node, context[place]) if node >= 0 else node
            backoff, first, last = 0.0, 0, 0
            if node >= 0:
                level = self.levels[length - 1]
                backoff = float(level.log_backoff[node])
                first, last = level.first[node : node + 2].tolist()
            levels.append((backoff, first, last))
        return levels

    def _unigram(self, word: int) -> int:
        """Returns a word's index among the unigrams; `<unk>`'s if the model lacks the word."""
        node = int(self.number[word]) if word < self.ids else -1
        return node if node >= 0 else int(self.number[UNKNOWN])

    def _child(self, depth: int, node: int, word: int) -> int:
        """Returns the index of n-gram `node` of levels[depth] plus a word; -1 if not listed."""
        level = self.levels[depth]
        start, end = level.first[node], level.first[node + 1]
        words = self.levels[depth + 1].words[start:end]
        place = int(words.searchsorted(word))
        return int(start) + place if place < len(words) and words[place] == word else -1


def build(orders: Iterable[Grams], *, source: str) -> BackoffModel:
    """Builds the model with these n-grams, given from order 1 up; errors name the file `source`."""
    levels: list[Level] = []
    number = np.empty(0, np.int32)
    # The n-grams of each order as keys: context index times number of unigrams, plus word index.
    keys: list[Keys] = []
    for grams in orders:
        key = grams.words[:, 0].astype(np.int64)
        if grams.order > 1:
            word = _places(number, grams.words[:, -1])
            _refuse(grams, word < 0, "its last word is not among the unigrams", source=source)
            key = _contexts(grams, number, keys, source=source) * len(keys[0]) + word
        sorting = key.argsort(kind="stable")
        key = key[sorting]
        twice = np.zeros(len(key), bool)
        twice[sorting[1:]] = key[1:] == key[:-1]
        _refuse(grams, twice, "it is listed a second time", source=source)
        if grams.order == 1:
            number = _numbered(key, source=source)
        else:
            first = np.searchsorted(key, np.arange(len(keys[-1]) + 1) * len(keys[0]))
            levels[-1] = replace(levels[-1], first=first)
        keys.append(key)
        backoff = np.empty(0) if grams.log10_backoff is None else grams.log10_backoff[sorting]
        levels.append(
            Level(
                words=grams.words[sorting, -1],
                log_probability=(grams.log10_probability[sorting] * LN10).astype(np.float32),
                log_backoff=(backoff * LN10).astype(np.float32),
                first=np.empty(0, np.int64),
            )
        )
    return BackoffModel(tuple(levels), number)


def _numbered(words: Keys, *, source: str) -> NDArray[np.int32]:
    """Returns each word's index among the sorted unigrams (`BackoffModel.number`)."""
    for word in (UNKNOWN, BEGIN, END):
        if word not in words[:3]:
            raise ValueError(f"{source}: {word_name(word)} must be among the unigrams, got none")
    number = np.full(int(words[-1].clip(-1)) + 4, -1, np.int32)
    number[words] = np.arange(len(words))
    return number


def _places(number: NDArray[np.int32], words: NDArray[np.int32]) -> Keys:
    """Returns each word's index among the unigrams; -1 if the model lacks the word."""
    # Larger ids must not be looked up: the last three entries belong to the special words.
    beyond = words >= len(number) + UNKNOWN
    return np.where(beyond, -1, number[np.where(beyond, UNKNOWN, words)]).astype(np.int64)


def _contexts(grams: Grams, number: NDArray[np.int32], keys: list[Keys], *, source: str) -> Keys:
    """Returns, for each n-gram, the index of all but its last word in the next lower order."""
    place = _places(number, grams.words[:, 0])
    missing = place < 0
    for depth in range(1, grams.order - 1):
        word = _places(number, grams.words[:, depth])
        wanted = place * len(keys[0]) + word
        place = np.searchsorted(keys[depth], wanted)
        place[place == len(keys[depth])] = 0
        missing |= (word < 0) | (keys[depth][place] != wanted)
    _refuse(grams, missing, "its words but the last are not listed", source=source)
    return place


def _refuse(grams: Grams, wrong: NDArray[np.bool_], reason: str, *, source: str) -> None:
    """Raises ValueError if an n-gram is marked in `wrong`; the message names the first one."""
    if not wrong.any():
        return
    row = int(wrong.argmax())
    words = " ".join(word_name(int(word)) for word in grams.words[row])
    raise ValueError(f"{source}:{grams.first_line + row}: the n-gram {words}: {reason}")


def pack(model: BackoffModel) -> dict[str, NDArray[Any]]:
    """Returns a model's arrays by name, for `unpack`."""
    return {"number": model.number} | {
        f"{name}_{order}": getattr(level, name)
        for order, level in enumerate(model.levels, start=1)
        for name in _ARRAYS
    }


def unpack(arrays: Mapping[str, NDArray[Any]]) -> BackoffModel:
    orders = range(1, 1 + sum(name.startswith("words_") for name in arrays))
    levels = (Level(*(arrays[f"{name}_{order}"] for name in _ARRAYS)) for order in orders)
    return BackoffModel(tuple(levels), arrays["number"])
