"""A profile as a JSON file, written and read by the record's own schema; needs no torch.

The fields of a profile's parts (times, details, clock) are keys of the file itself. The fields of
the setup's parts (software, texts) are keys of the file's `setup`.
"""

import re
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

from estimator.profiles.parts import Software, TextSettings
from estimator.profiles.profile import ClockCheck, Profile, TextDetails, TimesMs
from estimator.writing import write_json
from reference.files import read_json

SCHEMA, VERSION = "specplan-profile", 2


def _keys(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


# The keys of each part, with their values where the part is None.
_PARTS = {
    "times": {**_keys(TimesMs({}, 0.0)), "draft_ms": None},
    "details": _keys(TextDetails()),
    "clock": _keys(ClockCheck()),
    "software": _keys(Software()),
    "texts": _keys(TextSettings()),
}


def profile_json(profile: Profile) -> dict[str, Any]:
    """Returns the profile as the JSON object of its file."""
    head = {"schema": SCHEMA, "version": VERSION}
    return head | _inlined(profile) | {"setup": _inlined(profile.setup)}


def _inlined(record: Any) -> dict[str, Any]:
    """Returns an object's fields; a field in `_PARTS` is replaced by the fields of its value."""
    inlined: dict[str, Any] = {}
    for name, value in _keys(record).items():
        part = _PARTS.get(name)
        inlined |= {name: value} if part is None else part if value is None else _keys(value)
    return inlined


def _parts(document: dict[str, Any]) -> dict[str, Any]:
    """Returns a file's keys, grouped into the parts of a profile."""
    parts = document | {
        "times": document if document.get("target_ms") else None,
        "details": document if any(map(document.get, _PARTS["details"])) else None,
        "clock": document,
    }
    if isinstance(setup := document.get("setup"), dict):
        parts["setup"] = setup | {"software": setup, "texts": setup}
    return parts


def read_profile(path: Path) -> Profile:
    head = read_json(path, msgspec.json.decode)
    if not isinstance(head, dict) or head.get("schema") != SCHEMA:
        raise ValueError(f"profile {path} must be written by 'specplan measure', got another JSON")
    if head.get("version") != VERSION:
        raise ValueError(
            f"profile {path} must have version {VERSION}, got {head.get('version')}: measure again"
        )
    try:
        profile = msgspec.convert(_parts(head), type=Profile, strict=True, str_keys=True)
        # Raises on reading what a plan would raise.
        profile.drafting()
        for drafting in profile.draftings.values():
            drafting.under("token")
            if drafting.blocks_jointly:
                drafting.under("block")
        for passes in (profile.times, *profile.load):
            _ = passes and profile.cost_of(passes)
    except (msgspec.ValidationError, ValueError) as error:
        place = re.sub(rf"\.({'|'.join(_PARTS)})\b", "", str(error))
        raise ValueError(f"profile {path} is damaged: {place}") from None
    return profile


def write_profile(profile: Profile, path: Path) -> None:
    """Writes a profile. If that fails, the OSError names a temporary file that holds it."""
    try:
        write_json(profile_json(profile), path)
    except OSError as error:
        kept = Path(tempfile.mkdtemp(prefix="specplan-"), "profile.json")
        write_json(profile_json(profile), kept)
        reason = f"{error.strerror}; the profile is in {kept}"
        raise OSError(error.errno, reason, str(path)) from None
