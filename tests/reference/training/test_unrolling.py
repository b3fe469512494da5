"""Training a head as it drafts: losses are computed on its own drafts, and they fall."""

from pathlib import Path

import pytest
import torch
from eagle3_laboratory import tiny_target

from reference.drafters.state_head import StateHeadDrafter
from reference.laws import Sampling
from reference.score_text import score_text
from reference.scoring import ScoreOptions
from reference.state_heads.eagle3 import Eagle3, shape_for
from reference.training.loop import Schedule, Training
from reference.training.unrolling import acceptance_ahead, train_unrolled, windows_along

STEPS = 3


def test_a_heads_acceptance_in_training_is_that_of_its_drafts_and_grows(tmp_path: Path) -> None:
    target = tiny_target(6)
    module = target.module.float().requires_grad_(False)
    torch.manual_seed(0)
    head = Eagle3(shape_for(module), module)
    output = module.get_output_embeddings()
    ids = torch.randint(6, (24, 20), generator=torch.Generator().manual_seed(1))
    windows = windows_along(module, ids, head.taps, name="tiny")
    untrained = acceptance_ahead(head, output, windows, steps=STEPS)
    training = Training("head", Schedule(40, 1e-2, warmup=4), tmp_path / "checkpoint", seed=2)
    done = train_unrolled(head, output, training, [windows], steps=STEPS, positions=80)
    trained = acceptance_ahead(head, output, windows, steps=STEPS)
    assert (done.steps, len(trained)) == (40, STEPS)
    assert min(trained) > max(untrained) + 0.1

    # The first step of drafts that begin with the third token of a text, and later ones.
    drafter = StateHeadDrafter(target, head, Sampling(), name="head")
    betas = []
    for row in ids.tolist():
        options = ScoreOptions([Sampling()], [], STEPS)
        [scores] = score_text(target, drafter, row[:2], row[2:18], options, sampling=Sampling())
        betas.append(scores.beta)
    # float16 keeps the states to three digits.
    assert float(torch.stack(betas).mean()) == pytest.approx(trained[0], abs=2e-3)
