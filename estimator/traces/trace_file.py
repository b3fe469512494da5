"""The file of a profile's traces, and the journal of an unfinished measurement; needs no torch."""

import base64
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
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
from ngram.formats.model_files import sealed, unsealed
from reference.files import uninterrupted

# Beginning of a journal's first line, before the key.
JOURNAL = b"specplan journal "
LAYOUT, MATCHES = "specplan traces 2", "specplan matches 1"
Arrays = dict[str, NDArray[Any]]


class Journal:
    """A file with the finished parts of an unfinished measurement, one record per line.

    A record is appended, so saving it takes the same time for any number of earlier records.

    known: records of an interrupted run with the same key, without an incomplete last line. A file
      with another key belongs to another measurement, and the first `add` replaces it.
    """

    def __init__(self, output: Path, key: str) -> None:
        """Loads the records of an earlier run.

        output: file of the whole measurement. key: text that identifies the measurement.
        """
        self._path, self._header, self._begun = journal_path(output), JOURNAL + key.encode(), False
        whole = self._path.read_bytes() if self._path.exists() else self._header + b"\n"
        first, *lines = whole.split(b"\n")
        if not first.startswith(JOURNAL):
            raise ValueError(
                f"traces {self._path} must be a journal that 'specplan measure' wrote, got another "
                "or a damaged file; move it away or measure into another place"
            )
        self.known = lines[:-1] if first == self._header else []

    def add(self, record: bytes) -> None:
        """Appends a record, which must not contain a line break."""
        with uninterrupted():
            if not self._begun:
                write_whole(self._path, b"\n".join([self._header, *self.known, b""]))
                self._begun = True
            with self._path.open("ab") as file:
                file.write(record + b"\n")
                file.flush()
                os.fsync(file.fileno())

    def finish(self) -> None:
        """Removes the file; call this when the measurement is complete."""
        self._path.unlink(missing_ok=True)


def traces_path(profile: Path) -> Path:
    """Returns the path of a profile's traces: the profile's path with `.traces.npz` appended."""
    return profile.with_name(f"{profile.name}.traces.npz")


def journal_path(path: Path) -> Path:
    """Returns the path of the journal for the file at `path`."""
    return path.with_name(f"{path.name}.part")


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(
            f"traces {path} must be a whole file that 'specplan measure' wrote, got another or a "
            "damaged one; move it away or measure into another place"
        ) from error


def read_arrays(path: Path) -> Arrays:
    """Returns the arrays of a file that `write_traces` or `write_matches` wrote."""
    with _refusing(path):
        arrays = unsealed(path.read_bytes())
        if str(arrays.get("layout")) not in (LAYOUT, MATCHES):
            raise ValueError("arrays must be of a known layout, got others")
        return arrays


def write_matches(
    path: Path, least: Sequence[int], tokens: Sequence[int], blocks: NDArray[np.int64]
) -> None:
    """Writes how many blocks a lookup needs on recorded texts, for several least match lengths.

    least: the least numbers of matched tokens after which the lookup drafts, ascending.
    tokens: number of tokens in each group of texts.
    blocks: number of blocks with 0, …, γ drafted tokens for γ = 1, 2, …, shape (groups, least, γ,
      γ + 1).
    """
    arrays = {"least": np.array(least), "tokens": np.array(tokens), "blocks": blocks}
    write_whole(path, sealed({"layout": np.array(MATCHES), "key": np.array(""), **arrays}))


def read_traces(path: Path) -> dict[int, TracePair]:
    """Returns the traces of a measurement, by the prompt's index."""
    with _refusing(path):
        return unpack(read_arrays(path))


def write_traces(path: Path, traces: Mapping[int, TracePair], key: str) -> None:
    """Writes the traces of a measurement; traces: by the prompt's index."""
    write_whole(path, sealed(pack(dict(sorted(traces.items())), key)))


def require_place(path: Path) -> None:
    """Raises ValueError if `path` or its journal exists and is not a readable file of traces."""
    if path.exists():
        read_arrays(path)
    Journal(path, "")


class KeptTraces:
    """The saved traces of a measurement's finished prompts.

    known: all saved traces by the prompt's index, including traces of an earlier run with this key.
    """

    def __init__(self, path: Path, key: str) -> None:
        """Loads an earlier run's traces. key: hash of its models, settings and prompts."""
        self._path, self._key = path, key
        saved = read_arrays(path) if path.exists() else {}
        self.known = unpack(saved) if saved and str(saved["key"]) == key else {}
        self._journal = Journal(path, key)
        for record in self._journal.known:
            try:
                self.known |= unpack(unsealed(base64.b64decode(record, validate=True)))
            except ValueError:
                continue  # a damaged record: its prompt is measured again

    def add(self, prompt: int, traces: TracePair) -> None:
        """Saves the traces of one more prompt."""
        self._journal.add(base64.b64encode(sealed(pack({prompt: traces}, self._key))))
        self.known[prompt] = traces

    def finish(self) -> None:
        """Writes all traces to one file and removes the journal."""
        write_traces(self._path, self.known, self._key)
        self._journal.finish()


def pack(traces: Mapping[int, TracePair], key: str) -> Arrays:
    """Returns the traces as arrays, in which texts follow each other; traces: at least one."""
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
    columns: dict[str, Sequence[Any]] = {
        "ids": [pair.ids for pair in pairs],
        "drafted": [pair.sampled.drafted for pair in pairs],
    }
    for way in DRAFT_SAMPLINGS:
        of_way = [pair.under(way) for pair in pairs]
        lenient = [
            [trace.alpha_by_lenience[lenience] for lenience in leniences] for trace in of_way
        ]
        arrays[f"{way}_lenient_alpha"] = np.array(lenient)
        for name in ("beta", "ratio", "rank"):
            columns[f"{way}_{name}"] = [getattr(trace, name) for trace in of_way]
        along, starts, continued = zip(
            *(trace.confidence or (None,) * 3 for trace in of_way), strict=True
        )
        columns |= {f"{way}_confidence": along, f"{way}_starts": starts, f"{way}_own": continued}
        columns[f"{way}_paths"] = [None if start is None else [len(start)] for start in starts]
    known = (column for column in columns.items() if all(part is not None for part in column[1]))
    return arrays | {name: np.concatenate(parts) for name, parts in known}


def unpack(arrays: Mapping[str, NDArray[Any]]) -> dict[int, TracePair]:
    """Returns the traces, by the prompt's index, from arrays made by `pack`."""
    ids = [None if of_text is None else tuple(of_text.tolist()) for of_text in _of(arrays, "ids")]
    pairs = map(TracePair, *(_of_way(arrays, way) for way in DRAFT_SAMPLINGS), ids)
    return dict(zip(arrays["prompts"].tolist(), pairs, strict=True))


def _of(arrays: Mapping[str, NDArray[Any]], name: str, counts: str = "tokens") -> Sequence[Any]:
    """Returns an array's part for each text, `counts` long; None if it was not recorded."""
    if name not in arrays:
        return [None] * len(arrays["tokens"])
    return np.split(arrays[name], np.cumsum(arrays[counts])[:-1])


def _of_way(arrays: Mapping[str, NDArray[Any]], way: DraftSampling) -> list[Trace]:
    """Returns the traces of sampled or argmax drafts; fields that were not recorded are None."""
    column = partial(_of, arrays)
    confidence, continued, paths = f"{way}_confidence", f"{way}_own", f"{way}_paths"
    for values in (arrays.get(confidence), arrays.get(continued)):
        if values is not None and not ((values >= 0) & (values <= 1)).all():
            raise ValueError("confidences must lie in [0, 1]")
    leniences = arrays["leniences"].tolist()
    lenient = arrays[f"{way}_lenient_alpha"].tolist()
    sure = zip(
        column(confidence), column(f"{way}_starts", paths), column(continued, paths), strict=True
    )
    columns: list[Sequence[Any]] = [
        *map(column, (f"{way}_beta", f"{way}_ratio", "drafted")),
        arrays["limits"].tolist(),
        [dict(zip(leniences, alphas, strict=True)) for alphas in lenient],
        column(f"{way}_rank"),
        [None if along is None else RecordedConfidence(along, *ahead) for along, *ahead in sure],
    ]
    return [Trace(*text) for text in zip(*columns, strict=True)]
