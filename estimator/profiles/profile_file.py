"""A profile as a JSON file, written and read by the record's schema; needs no torch."""

import tempfile
from pathlib import Path

import msgspec

from estimator.profiles.profile import SCHEMA, VERSION, Profile
from estimator.writing import write_json
from reference.reading import read_json


def read_profile(path: Path) -> Profile:
    """Returns the profile that `write_profile` wrote."""
    head = read_json(path, msgspec.json.decode)
    if not isinstance(head, dict) or head.get("schema") != SCHEMA:
        raise ValueError(f"profile {path} must be written by 'specplan measure', got another JSON")
    if head.get("version") != VERSION:
        raise ValueError(
            f"profile {path} must have version {VERSION}, got {head.get('version')}: measure again"
        )
    try:
        profile = msgspec.convert(head, type=Profile, strict=True, str_keys=True)
        for drafting in profile.draftings.values():
            _ = drafting.acceptance
            _ = drafting.under("block") if drafting.blocks_jointly else None
        _ = profile.drafting()
        _ = profile.cost
        for load in profile.load:
            _ = profile.cost_of(load)
    except (msgspec.ValidationError, ValueError) as error:
        raise ValueError(f"profile {path} is damaged: {error}") from None
    return profile


def write_profile(profile: Profile, path: Path) -> None:
    """Writes a profile. If that fails, the OSError names a temporary file that holds it."""
    try:
        write_json(profile, path)
    except OSError as error:
        kept = Path(tempfile.mkdtemp(prefix="specplan-"), "profile.json")
        write_json(profile, kept)
        raise OSError(
            error.errno, f"{error.strerror}; the profile is in {kept}", str(path)
        ) from None
