"""The file of a profile's traces, and the journal from which it is made; needs no torch.

The journal appends each finished prompt's traces, so saving a prompt takes the same time for any
number of earlier prompts, and an interrupted measurement resumes.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.traces.traces import (
    DRAFT_SAMPLINGS,
    DraftSampling,
    RecordedConfidence,
    Trace,
    TracePair,
)
from estimator.writing import write_whole
from ngram.formats.cache import sealed, unsealed
from reference.atomic import uninterrupted

JOURNAL = b"specplan journal of traces 1\n"
LENGTH = struct.Struct("<Q")
Arrays = dict[str, NDArray[Any]]


def traces_path(profile: Path) -> Path:
    """Returns the path of a profile's traces: the profile's path with `.traces.npz` appended."""
    return profile.with_name(f"{profile.name}.traces.npz")


def journal_path(path: Path) -> Path:
    """Returns the path of the journal of finished prompts' traces."""
    return path.with_name(f"{path.name}.part")


def read_traces(path: Path) -> tuple[str, dict[int, TracePair]]:
    """Returns the key of a measurement and its traces, by the prompt's index."""
    try:
        return unpack(unsealed(path.read_bytes()))
    except ValueError as error:
        raise ValueError(
            f"traces {path} must be a whole file that 'specplan measure' wrote, got another or a "
            "damaged one; move it away or measure into another place"
        ) from error


def write_traces(path: Path, traces: Mapping[int, TracePair], key: str) -> None:
    """Writes the traces of a measurement, by the prompt's index."""
    write_whole(path, sealed(pack(dict(sorted(traces.items())), key)))


def require_place(path: Path) -> None:
    """Raises ValueError if the path for traces holds another kind of file."""
    if path.exists():
        read_traces(path)
    _journal(journal_path(path))


class KeptTraces:
    """The saved traces of a measurement's finished prompts.

    known: traces by the prompt's index; at first those that an earlier run with this key saved.
      Traces with another key belong to another measurement and are replaced.
    """

    def __init__(self, path: Path, key: str) -> None:
        """Loads the traces that an earlier run saved; key: models, settings and prompts."""
        self.known: dict[int, TracePair] = {}
        self._path = path
        self._key = key
        if path.exists():
            self._take(*read_traces(path))
        for arrays in _journal(journal_path(path)):
            self._take(*unpack(arrays))
        self._begun = False

    def _take(self, key: str, traces: dict[int, TracePair]) -> None:
        if key == self._key:
            self.known |= traces

    def add(self, prompt: int, traces: TracePair) -> None:
        """Saves the traces of one more prompt."""
        with uninterrupted():
            self._write(prompt, traces)
        self.known[prompt] = traces

    def _write(self, prompt: int, traces: TracePair) -> None:
        path = journal_path(self._path)
        if not self._begun:
            # Rewrites the journal, so that no torn or foreign record precedes the new ones.
            known = [self._record(self.known)] if self.known else []
            write_whole(path, b"".join([JOURNAL, *known]))
            self._begun = True
        with path.open("ab") as journal:
            journal.write(self._record({prompt: traces}))
            journal.flush()
            os.fsync(journal.fileno())

    def finish(self) -> None:
        """Writes all traces to one file and removes the journal."""
        write_traces(self._path, self.known, self._key)
        journal_path(self._path).unlink(missing_ok=True)

    def _record(self, traces: dict[int, TracePair]) -> bytes:
        record = sealed(pack(traces, self._key))
        return LENGTH.pack(len(record)) + record


def _journal(path: Path) -> list[Arrays]:
    """Returns a journal's records up to the first incomplete one; none if there is no journal."""
    if not path.exists():
        return []
    content = path.read_bytes()
    if not content.startswith(JOURNAL):
        raise ValueError(
            f"traces {path} must be a journal that 'specplan measure' wrote, got another or a "
            "damaged file; move it away or measure into another place"
        )
    records = []
    place = len(JOURNAL)
    while place + LENGTH.size <= len(content):
        [length] = LENGTH.unpack_from(content, place)
        record = content[place + LENGTH.size : place + LENGTH.size + length]
        try:
            records.append(unsealed(record))
        except ValueError:
            break  # the run was interrupted here
        place += LENGTH.size + length
    return records


LAYOUT = "specplan traces 2"


def pack(traces: Mapping[int, TracePair], key: str) -> Arrays:
    """Returns arrays that hold all traces one after another.

    traces: by the prompt's index, at least one; all of one drafter and with equal leniences.
    """
    pairs = list(traces.values())
    leniences = list(pairs[0].sampled.alpha_by_lenience)
    arrays: Arrays = {
        "layout": np.array(LAYOUT),
        "key": np.array(key),
        "prompts": np.array(list(traces)),
        "tokens": np.array([pair.sampled.tokens for pair in pairs]),
        "limits": np.array([pair.sampled.limit for pair in pairs]),
        "leniences": np.array(leniences, dtype=np.float64),
    }
    columns: dict[str, list[Any]] = {"drafted": [pair.sampled.drafted for pair in pairs]}
    for way in DRAFT_SAMPLINGS:
        of_way = [pair.under(way) for pair in pairs]
        sure = [trace.confidence for trace in of_way]
        lenient = [[trace.alpha_by_lenience[each] for each in leniences] for trace in of_way]
        arrays[f"{way}_lenient_alpha"] = np.array(lenient)
        columns |= {
            f"{way}_beta": [trace.beta for trace in of_way],
            f"{way}_ratio": [trace.ratio for trace in of_way],
            f"{way}_rank": [trace.rank for trace in of_way],
            f"{way}_confidence": [each and each.along for each in sure],
            f"{way}_starts": [each and each.starts for each in sure],
            f"{way}_paths": [each and [len(each.starts)] for each in sure],
            f"{way}_own": [each and each.own for each in sure],
        }
    known = {name: parts for name, parts in columns.items() if all(x is not None for x in parts)}
    return arrays | {name: np.concatenate(parts) for name, parts in known.items()}


def unpack(arrays: Mapping[str, NDArray[Any]]) -> tuple[str, dict[int, TracePair]]:
    """Returns the key and the traces, by the prompt's index, from arrays made by `pack`."""
    if "layout" not in arrays or str(arrays["layout"]) != LAYOUT:
        raise ValueError(f"arrays must be of the layout '{LAYOUT}', got others")
    ends = np.cumsum(arrays["tokens"])
    ways = [_of_way(arrays, way, ends.tolist()) for way in DRAFT_SAMPLINGS]
    pairs = [TracePair(*both) for both in zip(*ways, strict=True)]
    return str(arrays["key"]), dict(zip(arrays["prompts"].tolist(), pairs, strict=True))


def _of_way(
    arrays: Mapping[str, NDArray[Any]], way: DraftSampling, ends: Sequence[int]
) -> list[Trace]:
    leniences = arrays["leniences"].tolist()
    by_text = arrays[f"{way}_lenient_alpha"].tolist()

    def column(name: str) -> Sequence[NDArray[Any] | None]:
        return np.split(arrays[name], ends[:-1]) if name in arrays else [None] * len(ends)

    return [
        Trace(beta, ratio, drafted, int(limit), dict(zip(leniences, alphas, strict=True)), *rest)
        for beta, ratio, drafted, limit, alphas, *rest in zip(
            *(column(name) for name in (f"{way}_beta", f"{way}_ratio", "drafted")),
            arrays["limits"],
            by_text,
            column(f"{way}_rank"),
            _confidences(arrays, way, ends),
            strict=True,
        )
    ]


def _confidences(
    arrays: Mapping[str, NDArray[Any]], way: DraftSampling, ends: Sequence[int]
) -> Sequence[RecordedConfidence | None]:
    """Returns the draft's confidence along each text; None for files of older versions."""
    if f"{way}_confidence" not in arrays:
        return [None] * len(ends)
    along = np.split(arrays[f"{way}_confidence"], ends[:-1])
    last = np.cumsum(arrays[f"{way}_paths"])[:-1]
    starts, own = (np.split(arrays[f"{way}_{each}"], last) for each in ("starts", "own"))
    for name, values in (("along a text", arrays[f"{way}_confidence"]), ("ahead", np.vstack(own))):
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError(f"confidences {name} must lie in [0, 1]")
    return [RecordedConfidence(*each) for each in zip(along, starts, own, strict=True)]
