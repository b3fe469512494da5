"""Saves the counts of finished parts of a log until all parts are finished."""

from pathlib import Path

import msgspec

from estimator.texts.counting import Totals
from estimator.writing import write_whole
from reference.atomic import uninterrupted

SCHEMA = "specplan texts 1"


class JournalHeader(msgspec.Struct, frozen=True):
    """The first line of a journal."""

    schema: str
    key: str


def journal_path(profile: Path) -> Path:
    """Returns the path of the saved counts of an interrupted measurement."""
    return profile.with_name(f"{profile.name}.texts.part")


class Journal:
    """The counts of finished parts, in order.

    known: counts of an earlier run with the same key.
    """

    def __init__(self, path: Path, key: str) -> None:
        """Loads the counts of an interrupted run.

        Args:
          key: identity of the measurement; counts with another key are replaced.
        """
        self._path = path
        self.known = self._read(key)
        lines = [JournalHeader(SCHEMA, key), *self.known]
        write_whole(path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))

    def _read(self, key: str) -> list[Totals]:
        if not self._path.exists():
            return []
        first, *rest = self._path.read_bytes().split(b"\n")
        try:
            begun = msgspec.json.decode(first, type=JournalHeader)
        except msgspec.MsgspecError:
            begun = JournalHeader("", "")
        if begun.schema != SCHEMA:
            raise ValueError(f"{self._path} must be of an interrupted measurement, got another")
        if begun.key != key:
            return []
        # Text after the last line end is incomplete.
        return [msgspec.json.decode(line, type=Totals) for line in rest[:-1]]

    def add(self, counts: Totals) -> None:
        """Appends the counts of the next part."""
        with uninterrupted(), self._path.open("ab") as file:
            file.write(msgspec.json.encode(counts) + b"\n")

    def finish(self) -> None:
        """Removes the file, because the profile is complete."""
        self._path.unlink(missing_ok=True)
