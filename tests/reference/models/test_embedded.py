"""The embedded pair: small, complete, and as its note describes it."""

import json

import pytest
import torch

from reference.drafter import text_laws
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.embedded import END_OF_TEXT, library_files, weights_folder
from reference.models.huggingface import end_ids, load_model, load_tokenizer
from reference.scoring import ScoreOptions, Stretch

SHIPPED_BYTES = 14_100_000  # without the EAGLE-3 head


def test_shipped_files_stay_small() -> None:
    folder = weights_folder("target").parent
    files = [file for file in folder.rglob("*") if file.parent.name != "eagle3"]
    assert sum(file.stat().st_size for file in files) <= SHIPPED_BYTES


@pytest.mark.parametrize("name", ["target", "draft"])
def test_weights_are_half_precision_safetensors_that_load(name: str) -> None:
    model = load_model(str(weights_folder(name)), device=torch.device("cpu"))
    assert model.vocabulary == 2048
    assert model.max_length == 512
    stored = load_model(str(weights_folder(name)), device=torch.device("cpu"), dtype="float16")
    for parameter, half in zip(model.module.parameters(), stored.module.parameters(), strict=True):
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, half.float())


def test_the_end_of_text_is_one_token_and_ends_a_text() -> None:
    folder = str(weights_folder("target"))
    tokenizer = load_tokenizer(folder)
    assert tokenizer(END_OF_TEXT)["input_ids"] == [0]
    assert end_ids(load_model(folder, device=torch.device("cpu")).module, tokenizer) == {0}


def test_held_out_loss_and_overlap_are_near_the_note() -> None:
    """On four held-out files of this Python; the notes' values are over all files of theirs."""
    folder = weights_folder("target")
    target_note, draft_note = (
        json.loads((weights_folder(name) / "training.json").read_text())
        for name in ("target", "draft")
    )
    target = load_model(str(folder), device=torch.device("cpu"))
    draft = load_model(str(weights_folder("draft")), device=torch.device("cpu"))
    drafter = ModelDrafter(draft, Sampling(), target.vocabulary)
    tokenizer = load_tokenizer(str(folder))
    files = sorted(library_files(held=True), key=lambda path: -path.stat().st_size)[:4]
    losses, overlaps = [], []
    for path in files:
        ids = tokenizer(path.read_text(encoding="utf-8"), truncation=True, max_length=500)
        prompt, rest = ids["input_ids"][:1], ids["input_ids"][1:]
        text = target.start(prompt)
        [p] = text_laws(target, text, rest, [Sampling()])
        losses.append(-p.of(torch.tensor(rest)).log().mean().item())
        drafter.start(prompt, text)
        [scores] = drafter.score(Stretch(text, rest, p), ScoreOptions([Sampling()], (), 1))
        overlaps.append(scores.beta.mean().item())
    assert sum(losses) / len(losses) == pytest.approx(target_note["held_out_loss"], abs=0.7)
    assert sum(overlaps) / len(overlaps) == pytest.approx(draft_note["held_out_overlap"], abs=0.15)
