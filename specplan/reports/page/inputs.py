"""The input files of a page: JSON that a command writes, recognised by content."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from engines.tuning.tuned import FORMAT, Tuned, read_tuned
from estimator.comparison import read_measured
from estimator.profiles.best import BestGamma
from estimator.profiles.profile import Profile
from estimator.validation.file import Validated
from figures.drawing import short_name
from reference.files import read_json
from simulator.numerics.intervals import CONFIDENCE

# Options that name the kind of draft.
_DRAFT = {"--draft-kind", "--draft", "--draft-config", "--typical", "--profile"}
_ASSUMED = "# For a separate draft model, as no kind of draft is named.\n"
# The keys by which a command's JSON is recognised: all of one row.
_KEYS = {
    "plan": ("advised_gamma", "curve"),
    "traffic": ("rows", "most_requests_per_second"),
    "machines": ("machines",),
    "burst": ("rows", "burst"),
    "size": ("candidates", "best"),
    "observe": ("accepted_by_position", "block_efficiency", "source"),
    "compare": ("differences", "a", "b"),
    "tree": ("rows", "acceptance_by_rank"),
}

_REPEATED = "; "


@dataclass(frozen=True, slots=True)
class Document:
    """The JSON object of one command.

    file: name of the file; "" if the command itself makes the page.
    kind: a key of `_KEYS`, "plans" for a plan with several rows, "validate", or "tune".
    """

    file: str
    kind: str
    data: Mapping[str, Any]

    @property
    def command(self) -> str | None:
        return self.data.get("command")

    @property
    def options(self) -> dict[str, str]:
        """Options of the command with their values; flags without a value are left out.

        The values of an option that is given several times have `_REPEATED` between them.
        """
        words = shlex.split(self.command or "")
        stated: dict[str, list[str]] = {}
        for word, value in zip(words, [*words[1:], ""][: len(words)], strict=True):
            if word.startswith("--") and not value.startswith("--"):
                stated.setdefault(word, []).append(value)
        return {word: _REPEATED.join(values) for word, values in stated.items()}

    @property
    def about(self) -> str:
        """Models, machine and file."""
        options = self.options
        names = [
            _model(options[name]) for name in ("--target-config", "--target") if name in options
        ]
        drafts = [
            _model(options[name]) for name in ("--draft-config", "--draft") if name in options
        ]
        text = " drafted by ".join([*names[:1], *drafts[:1]])
        machine = options.get("--gpu", "").replace(",", ", ")
        return ", ".join(filter(None, [text, machine and f"on {machine}", self.file]))

    @property
    def flags(self) -> dict[str, str]:
        """Flags that set the advice, by server."""
        flags = dict(self.data.get("flags") or {})
        if isinstance(self.data.get("export"), str):
            assumed = _ASSUMED * ("DRAFT" in self.data["export"] and not _DRAFT & {*self.options})
            flags.setdefault(self.options.get("--export", "flags"), assumed + self.data["export"])
        return flags

    @property
    def inputs(self) -> list[tuple[str, str]]:
        stated = [(name.removeprefix("--"), value) for name, value in self.options.items()]
        return [*stated, *(("cost", source) for source in self._sources)]

    @property
    def basis(self) -> str:
        """The evidence behind the numbers: the answer's own sentence, or the source of costs."""
        return self.data.get("basis") or " ".join(f"Costs {source}." for source in self._sources)

    @property
    def _sources(self) -> list[str]:
        """The sources of the costs of the answer, or of its rows or machines, each once."""
        parts = [self.data, *(self.data.get("rows") or ()), *(self.data.get("machines") or ())]
        costs = [part["cost"] for part in parts if isinstance(part.get("cost"), Mapping)]
        return list(dict.fromkeys(cost["source"] for cost in costs if cost.get("source")))


def _model(value: str) -> str:
    """Returns the names of models from paths of config.json, folders, names, or `size --draft`."""
    names = []
    for listed in value.split(_REPEATED):
        stated = dict(part.split("=", 1) for part in listed.split(",") if "=" in part)
        path = Path(stated.get("name", stated.get("config", listed)))
        in_folder = path.parts[-1:] == ("config.json",)
        names.append(path.parent.name if in_folder else path.name.removesuffix(".json"))
    return " or ".join(names)


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

    documents: JSON of commands, in the order of the files.
    """

    profiles: tuple[Named, ...] = ()
    documents: tuple[Document, ...] = ()


def read_inputs(paths: Sequence[Path]) -> Inputs:
    """Returns the files' contents; refuses files that no command writes."""
    files = [(path.name, _read(path)) for path in paths]
    profiles = [(name, content) for name, content in files if isinstance(content, Profile)]
    drafts = [short_name(profile.setup.draft) for _, profile in profiles]
    named = []
    for draft, (name, profile) in zip(drafts, profiles, strict=True):
        shown = draft if drafts.count(draft) == 1 else f"{draft} ({name})"
        named.append(Named(shown, name, profile))
    return Inputs(
        tuple(named), tuple(content for _, content in files if isinstance(content, Document))
    )


def recognised(data: object) -> str | None:
    """Returns the kind of a command's JSON object; None if it is not known."""
    if not isinstance(data, dict):
        return None
    if str(data.get("format")).startswith(FORMAT[:13]):
        return "tune"
    kinds = (kind for kind, keys in _KEYS.items() if all(key in data for key in keys))
    rows = data.get("rows")
    first = rows[0] if isinstance(rows, list) and rows else None
    by_rows = {"plans": "advised_gamma", "validate": "measured"}
    kinds_of_rows = (
        kind for kind, key in by_rows.items() if isinstance(first, dict) and key in first
    )
    return next(kinds, next(kinds_of_rows, None))


# Readers that check files, by kind; None: not known.
_CHECKS: dict[str | None, Callable[[Path], Profile | Validated | Tuned]] = {
    None: read_measured, "validate": read_measured, "tune": read_tuned,
}  # fmt: skip


def _read(path: Path) -> Profile | Document:
    data = read_json(path, msgspec.json.decode)
    kind = recognised(data)
    checked = _CHECKS[kind](path) if kind in _CHECKS else None
    return (
        checked if isinstance(checked, Profile) else Document(path.name, kind or "validate", data)
    )
