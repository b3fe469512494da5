"""The files of a page (profiles, validations, tunings, traffic), recognized by their content."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from engines.tuning.tuned import Tuned, read_tuned
from estimator.comparison import read_measured
from estimator.profiles.profile import Profile
from estimator.validation.file import Validated
from figures.drawing.style import short_name
from reference.reading import read_json, read_whole


class Rate(msgspec.Struct, frozen=True):
    """A request rate with speculation or without; times are None where it is overloaded."""

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


class TrafficFile(msgspec.Struct, frozen=True):
    """The answer of `specplan traffic` for one server, with the name of its file."""

    prompt_tokens: float
    output_tokens: float
    rows: tuple[Rate, ...]
    most_requests_per_second: float
    most_requests_per_second_without: float
    break_even_rate: float | None
    name: str = ""

    def most(self, speculation: bool) -> float:
        """Returns the largest number of requests a second that the server sustains."""
        if speculation:
            return self.most_requests_per_second
        return self.most_requests_per_second_without

    @property
    def crossing(self) -> str:
        """Where speculation ceases to pay, in a sentence."""
        if self.break_even_rate is None:
            return "Speculation shortens requests at every rate."
        if self.break_even_rate == 0:
            return "Speculation lengthens requests at every rate."
        return f"Above {self.break_even_rate:.3g} requests/s speculation lengthens requests."


def read_traffic(path: Path) -> TrafficFile | None:
    """Returns what `specplan traffic -o` wrote; None where a file is not of it."""
    try:
        found = msgspec.json.decode(read_whole(path), type=TrafficFile)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return msgspec.structs.replace(found, name=path.name)


@dataclass(frozen=True, slots=True)
class Quickest:
    """The best of several files at one rate: shortest time to a request's last token.

    draft: name of the file; None: without speculation.
    """

    rate: float
    draft: str | None
    gamma: int
    request_ms: float


def quickest(files: Sequence[TrafficFile]) -> list[Quickest]:
    """Returns the best draft at each rate that all files share; empty for a single file."""
    rates = [{row.rate for row in file.rows} for file in files]
    common = sorted(set.intersection(*rates)) if len(files) > 1 else []
    found = [
        Quickest(rate, file.name if row.speculation else None, row.gamma, row.request_ms)
        for rate in common
        for file in files
        for row in file.rows
        if row.rate == rate and row.request_ms is not None
    ]
    best: dict[float, Quickest] = {}
    for each in found:
        if each.rate not in best or each.request_ms < best[each.rate].request_ms:
            best[each.rate] = each
    return list(best.values())


@dataclass(frozen=True, slots=True)
class Named:
    """A profile and what the page calls it: its draft, and its file where drafts share a name."""

    name: str
    file: str
    profile: Profile


@dataclass(frozen=True, slots=True)
class Inputs:
    """Profiles, at least one, validations, and what `traffic` and `tune` found, as given.

    tunings: each with the name of its file.
    """

    profiles: tuple[Named, ...]
    validations: tuple[Validated, ...]
    traffic: tuple[TrafficFile, ...] = ()
    tunings: tuple[tuple[str, Tuned], ...] = ()


def _is_tuning(path: Path) -> bool:
    document = read_json(path, msgspec.json.decode)
    return isinstance(document, dict) and str(document.get("format")).startswith("specplan tune")


def read_inputs(paths: Sequence[Path]) -> Inputs:
    """Returns what the files hold; refuses other files, and files without a profile."""
    profiles: list[tuple[Path, Profile]] = []
    validations: list[Validated] = []
    traffic: list[TrafficFile] = []
    tunings: list[tuple[str, Tuned]] = []
    for path in paths:
        served = read_traffic(path)
        if served is not None:
            traffic.append(served)
            continue
        if _is_tuning(path):
            tunings.append((path.name, read_tuned(path)))
            continue
        measured = read_measured(path)
        if isinstance(measured, Profile):
            profiles.append((path, measured))
        else:
            validations.append(measured)
    if not profiles:
        given = ", ".join(str(path) for path in paths)
        raise ValueError(f"a report must have at least one profile, got {given}")
    drafts = [short_name(profile.setup.draft) for _, profile in profiles]
    return Inputs(
        tuple(
            Named(
                draft if drafts.count(draft) == 1 else f"{draft} ({path.name})", path.name, profile
            )
            for draft, (path, profile) in zip(drafts, profiles, strict=True)
        ),
        tuple(validations),
        tuple(traffic),
        tuple(tunings),
    )
