"""Measures the acceptance of a copying draft along recorded texts, into a profile."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from estimator.draft_names.kind import parse_drafter
from estimator.intervals import rate, ratio_interval
from estimator.loading.folders import file_stamps
from estimator.profiles.parts import Alpha, DraftAcceptance, Setup, TextSettings
from estimator.profiles.profile import Profile
from estimator.profiles.profile_file import write_profile
from estimator.progress import SILENT, Progress
from estimator.prompts.logs import LogPart, parts
from estimator.requests import MeasureTexts
from estimator.texts.contexts import by_context
from estimator.texts.counting import Totals, count_part, counter, least_matches
from estimator.timing.threads import process_pool
from estimator.traces.trace_file import Journal, require_place, traces_path, write_matches
from reference.files import held
from simulator.numerics.intervals import CONFIDENCE

# Number of parts in memory per process, so that processes seldom wait for one another.
_TOGETHER = 8


def measure(request: MeasureTexts, progress: Progress = SILENT) -> tuple[Profile, Totals]:
    """Returns the acceptance of a draft that copies text, as a profile without costs and as counts.

    A copied token counts as accepted if the text has this token. At temperature 0 that is exact.
    For sampled texts the mean is exact, because the target accepts a copied token with the
    probability with which it writes this token.
    """
    if not request.texts.is_file():
        raise ValueError(f"texts must be an existing file, got {request.texts}")
    output, journal = request.output, None
    with ExitStack() as stack:
        if output is not None and (output.is_file() or not output.exists()):
            stack.enter_context(held(output))
            require_place(traces_path(output))
            journal = Journal(output.with_name(f"{output.name}.texts"), _key(request))
        whole = Totals()
        for counts in _counted(request, journal):
            whole += counts
            progress.step()
        if whole.texts == 0:
            reason = f": {whole.first_skipped}" if whole.skipped else ""
            raise ValueError(f"texts must hold a line, got none in {request.texts}{reason}")
        gammas, least = request.max_gamma, least_matches(request.draft)
        blocks = np.zeros((*np.shape(whole.blocks)[:2], gammas, gammas + 1), dtype=np.int64)
        blocks[..., *np.tril_indices(gammas, 1, gammas + 1)] = whole.blocks
        profile = _profile(request, whole, blocks)
        if output is not None:
            write_profile(profile, output)
        if output is not None and journal is not None:
            if least != (0,):
                write_matches(traces_path(output), least, whole.block_tokens, blocks)
            journal.finish()
    return profile, whole


def _counted(request: MeasureTexts, journal: Journal | None) -> Iterator[Totals]:
    """Yields the counts of all parts of the log in order; saves new counts in the journal."""
    lines = [] if journal is None else journal.known
    yield from (msgspec.json.decode(line, type=Totals) for line in lines)
    for counts in _new(request, islice(parts(request.texts), len(lines), None)):
        if journal is not None:
            journal.add(msgspec.json.encode(counts))
        yield counts


def _new(request: MeasureTexts, rest: Iterator[LogPart]) -> Iterator[Totals]:
    first = list(islice(rest, 2))
    processes = (os.cpu_count() or 1) if request.processes is None else request.processes
    count, rest = partial(count_part, request), chain(first, rest)
    # Refuses wrong settings. A forked process has the tokenizer; elsewhere each loads its own.
    counter(request)
    if processes == 1 or len(first) < 2:
        yield from map(count, rest)
        return
    with process_pool(processes) as pool:
        while some := list(islice(rest, _TOGETHER * processes)):
            yield from pool.map(count, some)


def _key(request: MeasureTexts) -> str:
    file = request.texts.stat()
    drafter = parse_drafter(request.draft)
    drafting = (request.draft, request.tokenizer, request.force, request.max_gamma)
    read = [stamp for source in drafter.sources for stamp in file_stamps(source)]
    of_file = (str(request.texts.resolve()), file.st_size, file.st_mtime_ns)
    settings = repr((drafting, read, request.skip_bad_lines, of_file, version("specplan")))
    return hashlib.sha256(settings.encode()).hexdigest()


def _profile(request: MeasureTexts, whole: Totals, blocks: NDArray[np.int64]) -> Profile:
    tokens = sum(whole.tokens)
    low, high = ratio_interval(whole.hits, whole.tokens, scale=rate)
    alpha = Alpha(sum(whole.hits) / tokens, low, high, CONFIDENCE, tokens, whole.texts)
    per_token = blocks[:, 0].sum(axis=0) / tokens
    by_gamma = {at: tuple(row[: at + 1].tolist()) for at, row in enumerate(per_token, start=1)}
    accepting = DraftAcceptance(
        alpha=alpha, blocks=by_gamma, at_contexts=by_context(whole.contexts)
    )
    return Profile(
        alpha=alpha,
        draft_sampling="argmax",
        draftings={"argmax": accepting},
        setup=Setup(
            target=f"the texts of {Path(request.texts).name}",
            draft=request.draft,
            draft_temperature=0.0,
            texts=TextSettings(max_gamma=request.max_gamma),
            flags=() if request.tokenizer is None else (f"tokenizer={request.tokenizer}",),
        ).here(("specplan", "numpy")),
    )
