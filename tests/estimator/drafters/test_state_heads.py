"""`eagle3`, `eagle3:FOLDER` and `mtp`: how they are named, and what they need."""

from pathlib import Path

import pytest

from estimator.drafters.kind import Needs
from estimator.drafters.registry import parse_drafter
from estimator.settings import ModelSettings
from reference.models.embedded import weights_folder


def test_the_embedded_head_is_in_the_layout_that_servers_load() -> None:
    [folder] = parse_drafter("eagle3").own_files
    assert folder == weights_folder("eagle3")
    files = [folder / name for name in ("config.json", "model.safetensors", "training.json")]
    assert sum(path.stat().st_size for path in files) < 3e6


def test_a_folder_is_named_behind_the_colon() -> None:
    drafter = parse_drafter("eagle3:some/head")
    assert (str(drafter), drafter.own_files) == ("eagle3:some/head", (Path("some/head"),))
    with pytest.raises(ValueError, match="draft eagle3: needs a value after the colon"):
        parse_drafter("eagle3:")


def test_the_embedded_head_drafts_for_its_target_alone() -> None:
    needs = Needs("other", None, ModelSettings(target="other", drafts=("eagle3",)))
    with pytest.raises(ValueError, match="draft eagle3 needs the embedded target, got other"):
        parse_drafter("eagle3").require(needs)


def test_multi_token_prediction_is_the_targets_own_and_takes_no_value() -> None:
    assert parse_drafter("mtp").own_states
    with pytest.raises(ValueError, match="draft mtp takes no value, got 'mtp:2'"):
        parse_drafter("mtp:2")
