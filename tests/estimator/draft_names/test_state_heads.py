"""`eagle3`, `eagle3:FOLDER` and `mtp`: how they are named, and what they need."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from estimator.draft_names.kind import parse_drafter
from estimator.settings import ModelSettings
from reference.models.embedded import weights_folder


def test_the_embedded_head_is_in_the_layout_that_servers_load() -> None:
    [folder] = parse_drafter("eagle3").own_files
    assert folder == weights_folder("eagle3")
    files = [folder / name for name in ("config.json", "model.safetensors", "training.json")]
    assert sum(path.stat().st_size for path in files) < 3e6


def test_the_embedded_head_drafts_for_its_target_alone() -> None:
    with pytest.raises(ValueError, match="draft eagle3 needs the embedded target, got other"):
        parse_drafter("eagle3").require("other", tokenizer=None, settings=ModelSettings())


def test_a_head_of_another_tokenizer_is_refused(tmp_path: Path) -> None:
    """Its own is read where it has one, as those that servers load often do."""
    own = AutoTokenizer.from_pretrained(weights_folder("target"))
    drafter = parse_drafter(f"eagle3:{tmp_path}")
    own.save_pretrained(tmp_path)
    drafter.require("embedded", tokenizer=own, settings=ModelSettings())
    other = Tokenizer(WordLevel({"a": 0, "b": 1}, unk_token="a"))
    PreTrainedTokenizerFast(tokenizer_object=other).save_pretrained(tmp_path)
    with pytest.raises(
        ValueError,
        match=r"must share one tokenizer, got embedded with 2048 tokens and eagle3:.* with 2$",
    ):
        drafter.require("embedded", tokenizer=own, settings=ModelSettings())
