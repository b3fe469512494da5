"""Where in a text its last words stood before."""

from collections.abc import Sequence

# What an index may take a match to be: it keeps that many tuples for each word of the text, and the
# memory of these grows with the square.
MOST = 64
# How many words a lookup's match may have unless it is said.
LONGEST = 3


class Matches:
    """An index of a text's words by the up to `longest` words before them.

    A text that grows costs work in proportion to its growth, one that shrinks to what it lost.
    """

    def __init__(self, longest: int) -> None:
        """Makes an index of an empty text.

        Args:
          longest: how many words a match may have, at least 1.
        """
        self.longest = longest
        self._text: list[int] = []
        # Words -> where what followed them stands, ascending.
        self._followers: dict[tuple[int, ...], list[int]] = {}

    def update(self, text: Sequence[int]) -> None:
        """Makes it the index of another text.

        text: the last one changed in its last word, if at all, and cut or continued from there.
        """
        common = max(min(len(self._text), len(text) - 1), 0)
        while len(self._text) > common:
            for words in self._before(len(self._text) - 1):
                self._followers[words].pop()
            self._text.pop()
        for word in text[common:]:
            self._text.append(word)
            for words in self._before(len(self._text) - 1):
                self._followers.setdefault(words, []).append(len(self._text) - 1)

    def _before(self, place: int) -> list[tuple[int, ...]]:
        """Returns the last words before a place: one, two, and so on."""
        return [
            tuple(self._text[place - length : place])
            for length in range(1, min(self.longest, place) + 1)
        ]

    def continuation(self, limit: int) -> list[int]:
        """Returns what followed the most recent match of the text's last words.

        The longest match counts; among matches of that length the last. What is copied may reach
        beyond the text's end and then copies itself: after `a b a b` comes `a b a b`...

        Returns:
          `limit` words, or none if the last word stood nowhere before.
        """
        for words in reversed(self._before(len(self._text))):
            places = self._followers.get(words)
            if places:
                copied: list[int] = []
                for place in range(places[-1], places[-1] + limit):
                    beyond = place - len(self._text)
                    copied.append(self._text[place] if beyond < 0 else copied[beyond])
                return copied
        return []
