"""The input files of a page (profiles, validations, tunings, traffic), recognised by content."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from engines.tuning.tuned import Tuned, read_tuned
from estimator.comparison import read_measured
from estimator.profiles.best import BestGamma
from estimator.profiles.profile import Profile
from estimator.validation.file import Validated
from figures.drawing import short_name
from reference.files import read_json, read_whole
from simulator.numerics.intervals import CONFIDENCE
from specplan.reports.traffic import crossing_text


class Rate(msgspec.Struct, frozen=True):
    """A server's load and speed at one request rate; times are None if the server is overloaded."""

    rate: float
    speculation: bool
    gamma: int
    tokens_per_second: float
    stable: bool
    batch: float | None = None
    tpot_ms: float | None = None
    tpot_ms_low: float | None = None
    tpot_ms_high: float | None = None
    ttft_ms: float | None = None
    request_ms: float | None = None
    gain_probability: float | None = None


class TrafficFile(msgspec.Struct, frozen=True):
    """A result of `specplan traffic` for one server, with the name of its file."""

    prompt_tokens: float
    output_tokens: float
    rows: tuple[Rate, ...]
    most_requests_per_second: float
    most_requests_per_second_without: float
    break_even_rate: float | None
    break_even_rate_low: float | None = None
    break_even_rate_high: float | None = None
    draws: int = 0
    name: str = ""

    @property
    def crossing(self) -> str:
        """Text with the rate above which speculation loses, and the odds of a gain by rate."""
        low, high = self.break_even_rate_low, self.break_even_rate_high
        ends = [math.inf if each is None else each for each in (low, high)] if self.draws else None
        chances = {row.rate: row.gain_probability for row in self.rows if row.speculation}
        return crossing_text(self.break_even_rate, ends, chances)


def quickest(files: Sequence[TrafficFile]) -> list[tuple[Rate, str]]:
    """Returns, for each rate that all files contain, the row with the shortest request time.

    Each row comes with its file's name. A single file gives [], since nothing is compared.
    """
    if len(files) < 2:
        return []
    timed = [(row, file.name) for file in files for row in file.rows if row.request_ms is not None]
    common = set.intersection(*({row.rate for row in file.rows} for file in files))
    common &= {row.rate for row, _ in timed}
    timed.sort(key=lambda pair: pair[0].request_ms or 0.0)
    return [next(pair for pair in timed if pair[0].rate == rate) for rate in sorted(common)]


@dataclass(frozen=True, slots=True)
class Named:
    """A profile and its name on the page.

    name: the draft's name, plus the file's name if drafts share one.
    best: the best γ and its gain, set by `ranked`; None if the profile has no costs.
    """

    name: str
    file: str
    profile: Profile
    best: BestGamma | None = None

    @property
    def level(self) -> float:
        return self.profile.alpha.level if self.profile.left_out is None else CONFIDENCE


@dataclass(frozen=True, slots=True)
class Inputs:
    """The contents of all input files.

    tunings: pairs of a file's name and its tuning.
    """

    profiles: tuple[Named, ...]
    validations: tuple[Validated, ...]
    traffic: tuple[TrafficFile, ...] = ()
    tunings: tuple[tuple[str, Tuned], ...] = ()


def read_inputs(paths: Sequence[Path]) -> Inputs:
    """Returns the files' contents; refuses unknown files, and files without any profile."""
    files = [(path.name, _read(path)) for path in paths]
    profiles = [(name, each) for name, each in files if isinstance(each, Profile)]
    if not profiles:
        given = ", ".join(map(str, paths))
        raise ValueError(f"a report must have at least one profile, got {given}")
    drafts = [short_name(profile.setup.draft) for _, profile in profiles]
    named = []
    for draft, (name, profile) in zip(drafts, profiles, strict=True):
        shown = draft if drafts.count(draft) == 1 else f"{draft} ({name})"
        named.append(Named(shown, name, profile))
    return Inputs(
        tuple(named),
        tuple(each for _, each in files if isinstance(each, Validated)),
        tuple(each for _, each in files if isinstance(each, TrafficFile)),
        tuple((name, each) for name, each in files if isinstance(each, Tuned)),
    )


def _read(path: Path) -> Profile | Validated | TrafficFile | Tuned:
    try:
        found = msgspec.json.decode(read_whole(path), type=TrafficFile)
        return msgspec.structs.replace(found, name=path.name)
    except (msgspec.DecodeError, UnicodeDecodeError):
        document = read_json(path, msgspec.json.decode)
    form = document.get("format") if isinstance(document, dict) else None
    return read_tuned(path) if str(form).startswith("specplan tune") else read_measured(path)
