"""Measures the acceptance of a copying draft along recorded texts, into a profile."""

import hashlib
import multiprocessing
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import nullcontext
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import msgspec

from estimator.draft_names.kind import parse_drafter
from estimator.intervals import rate, ratio_interval
from estimator.loading.origins import file_stamps
from estimator.profiles.drafting import Alpha, DraftAcceptance
from estimator.profiles.profile import Profile
from estimator.profiles.profile_file import write_profile
from estimator.profiles.setup import Setup, TextSettings
from estimator.progress import SILENT, Progress
from estimator.prompts.logs import LogPart, parts
from estimator.texts.counting import Counter, MeasureTexts, Totals, nothing
from estimator.writing import write_whole
from reference.atomic import held, uninterrupted
from simulator.numerics.intervals import CONFIDENCE

# Number of waiting parts per process, so that no process waits for the log.
_AHEAD = 3
_counters: list[Counter] = []  # in a counting process


# First line of a journal, before the key.
_JOURNAL = b"specplan texts 2 "


def journal_path(profile: Path) -> Path:
    """Returns the path of the saved counts of an interrupted measurement."""
    return profile.with_name(f"{profile.name}.texts.part")


class Journal:
    """The counts of finished parts, saved as JSON lines until all parts are finished.

    known: counts of an earlier run with the same key, in order.
    """

    def __init__(self, path: Path, key: str) -> None:
        """Loads an earlier run's counts; key identifies the measurement."""
        self._path, first = path, _JOURNAL + key.encode()
        self.known: list[Totals] = []
        header, *lines = path.read_bytes().split(b"\n") if path.exists() else [first, b""]
        if not header.startswith(_JOURNAL):
            raise ValueError(f"{path} must be of an interrupted measurement, got another")
        if header == first:
            # The last line is empty, or was cut off.
            self.known = [msgspec.json.decode(line, type=Totals) for line in lines[:-1]]
        kept = [first, *map(msgspec.json.encode, self.known)]
        write_whole(path, b"".join(line + b"\n" for line in kept))

    def add(self, counts: Totals) -> None:
        """Appends the counts of the next part."""
        with uninterrupted(), self._path.open("ab") as file:
            file.write(msgspec.json.encode(counts) + b"\n")

    def finish(self) -> None:
        """Removes the file, because the profile is complete."""
        self._path.unlink(missing_ok=True)


def measure(request: MeasureTexts, progress: Progress = SILENT) -> tuple[Profile, Totals]:
    """Returns the acceptance of a copying draft, as a profile without prices and as counts.

    At temperature 0 it is exact: a copied token is accepted if it is the text's. For sampled texts
    its mean is exact, because a token is accepted with the probability that it is written.
    """
    if not request.texts.is_file():
        raise ValueError(f"texts must be an existing file, got {request.texts}")
    output = request.output
    lasting = output is not None and (output.is_file() or not output.exists())
    with held(output) if output is not None and lasting else nullcontext():
        journal = None
        if output is not None and lasting:
            journal = Journal(journal_path(output), _key(request))
        whole = nothing(request.max_gamma)
        for counts in _counted(request, journal):
            whole += counts
            progress.step()
        if whole.texts == 0:
            reason = f": {whole.first_skipped}" if whole.skipped else ""
            raise ValueError(f"texts must hold a line, got none in {request.texts}{reason}")
        profile = _profile(request, whole)
        if output is not None:
            write_profile(profile, output)
        if journal is not None:
            journal.finish()
    return profile, whole


def _counted(request: MeasureTexts, journal: Journal | None) -> Iterator[Totals]:
    """Yields the counts of all parts in order, and saves new ones."""
    known = [] if journal is None else journal.known
    yield from known
    for counts in _new(request, islice(parts(request.texts), len(known), None)):
        if journal is not None:
            journal.add(counts)
        yield counts


def _new(request: MeasureTexts, rest: Iterator[LogPart]) -> Iterator[Totals]:
    first = list(islice(rest, 2))
    processes = (os.cpu_count() or 1) if request.processes is None else request.processes
    _begin(request)
    if processes == 1 or len(first) < 2:
        for part in (*first, *rest):
            yield _count(part)
        return
    # A forked process has the tokenizer; elsewhere each process loads its own.
    ways = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in ways else ways[0])
    with ProcessPoolExecutor(
        processes, mp_context=context, initializer=_begin, initargs=(request,)
    ) as pool:
        waiting: deque[Future[Totals]] = deque(pool.submit(_count, part) for part in first)
        for part in rest:
            waiting.append(pool.submit(_count, part))
            if len(waiting) >= _AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _begin(request: MeasureTexts) -> None:
    if not _counters or _counters[0].request != request:
        _counters[:] = [Counter.of(request)]


def _count(part: LogPart) -> Totals:
    return _counters[0].count(part)


def _key(request: MeasureTexts) -> str:
    file = request.texts.stat()
    kind = parse_drafter(request.draft)
    own = (request.draft, request.tokenizer, request.force, request.max_gamma)
    read = [stamp for source in kind.sources for stamp in file_stamps(source)]
    of_file = (str(request.texts.resolve()), file.st_size, file.st_mtime_ns)
    settings = repr((own, read, request.skip_bad_lines, of_file, version("specplan")))
    return hashlib.sha256(settings.encode()).hexdigest()


def _profile(request: MeasureTexts, whole: Totals) -> Profile:
    tokens = sum(whole.tokens)
    low, high = ratio_interval(whole.hits, whole.tokens, scale=rate)
    alpha = Alpha(
        value=sum(whole.hits) / tokens,
        low=low,
        high=high,
        confidence=CONFIDENCE,
        tokens=tokens,
        prompts=whole.texts,
    )
    blocks = {
        gamma: tuple(count / tokens for count in row)
        for gamma, row in enumerate(whole.blocks, start=1)
    }
    drafting = DraftAcceptance(alpha=alpha, blocks=blocks)
    return Profile(
        alpha=alpha,
        draft_sampling="argmax",
        draftings={"argmax": drafting},
        setup=Setup(
            target=f"the texts of {Path(request.texts).name}",
            draft=request.draft,
            draft_temperature=0.0,
            texts=TextSettings(max_gamma=request.max_gamma),
            flags=() if request.tokenizer is None else (f"tokenizer={request.tokenizer}",),
        ).here(("specplan", "numpy")),
    )
