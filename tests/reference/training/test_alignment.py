"""Alignment: losses by hand, one padded pass equal to single ones, and a draft that learns."""

from pathlib import Path

import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

from reference.drafter import text_laws
from reference.drafters.state_head import StateHeadDrafter
from reference.laws import Sampling
from reference.models.architectures import CausalModel, EncoderDecoderModel, early_exit
from reference.models.cached_model import CachedModel
from reference.state_heads.eagle3 import Eagle3, shape_for
from reference.training.alignment import LOSSES, Lesson, align, logits_along, train_exits
from reference.training.loop import Schedule, Training
from reference.training.unrolling import acceptance_ahead, train_unrolled, windows_along
from tests.reference.decoding import scored
from tests.reference.eagle3_laboratory import tiny_target
from tests.reference.tiny_models import llama

VOCABULARY = 24
LESSONS = [
    Lesson((1, 2, 3), (4, 5, 6, 7)),
    Lesson((9,), (8, 8)),
    Lesson((5, 5, 2, 2, 1), (3,)),
]


def causal(seed: int, layers: int = 1) -> CausalModel:
    sizes = {"vocab_size": VOCABULARY, "intermediate_size": 32, "num_hidden_layers": layers}
    return CausalModel(llama(seed, initializer_range=0.3, **sizes), f"causal {seed}")


def encoder_decoder(seed: int) -> EncoderDecoderModel:
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2,
        initializer_factor=3.0, dropout_rate=0.0, decoder_start_token_id=0, pad_token_id=0,
    )  # fmt: skip
    return EncoderDecoderModel(T5ForConditionalGeneration(config), f"t5 {seed}")


@pytest.mark.parametrize("make", [causal, encoder_decoder])
def test_one_padded_pass_equals_a_pass_of_each_lesson(make: type) -> None:
    model: CachedModel = make(1)
    with torch.no_grad():
        logits, tokens = logits_along(model, LESSONS)
    single = [
        text_laws(model, model.start(lesson.prompt), lesson.output, [Sampling()])[0]
        for lesson in LESSONS
    ]
    laws = torch.cat([law.dense(VOCABULARY) for law in single])
    torch.testing.assert_close(logits.softmax(-1), laws, atol=1e-5, rtol=1e-4)
    assert tokens.tolist() == [token for lesson in LESSONS for token in lesson.output]


def test_losses_are_their_formulas() -> None:
    q = torch.tensor([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]])
    p = torch.tensor([[0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])
    tokens = torch.tensor([1, 2])
    found = {name: float(loss(q.log(), tokens, lambda: p)) for name, loss in LOSSES.items()}
    assert found["hard"] == pytest.approx(-float((q[0, 1].log() + q[1, 2].log()) / 2))
    assert found["soft"] == pytest.approx(-float((p * q.log()).sum()) / 2)
    assert found["tv"] == pytest.approx(1 - (0.75 + 0.875) / 2)


def overlap(large: CachedModel, small: CachedModel) -> float:
    with torch.no_grad():
        p, q = (logits_along(model, LESSONS)[0].softmax(-1) for model in (large, small))
    return float(torch.minimum(p, q).sum(-1).mean())


def course(folder: Path, *, steps: int = 30) -> Training:
    return Training("align", Schedule(steps, 0.01, warmup=2), folder / "c.safetensors")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("make", [causal, encoder_decoder])
def test_alignment_lowers_its_loss_and_leaves_the_large_model_alone(
    make: type, loss: str, tmp_path: Path
) -> None:
    large, small = make(1), make(2)
    before = {name: value.clone() for name, value in large.module.state_dict().items()}

    def own_loss() -> float:
        with torch.no_grad():
            (p, _), (q, tokens) = (logits_along(model, LESSONS) for model in (large, small))
            return float(LOSSES[loss](q, tokens, lambda: p.softmax(-1)))

    first, alpha = own_loss(), overlap(large, small)
    align(large, small, LESSONS, course(tmp_path), batch=2, loss=loss)
    assert own_loss() < 0.9 * first
    if loss != "hard":
        assert overlap(large, small) > alpha
    for name, value in large.module.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_both_exits_learn(tmp_path: Path) -> None:
    large = causal(1, layers=3)
    small = early_exit(large, 1)

    def losses() -> list[float]:
        with torch.no_grad():
            exits = [logits_along(model, LESSONS) for model in (small, large)]
        return [float(torch.nn.functional.cross_entropy(*one)) for one in exits]

    before = losses()
    train_exits(large, small, LESSONS, course(tmp_path, steps=60), batch=2)
    after = losses()
    assert after[0] < 0.5 * before[0]
    assert after[1] < 0.5 * before[1]


def test_every_lesson_is_taken_once_in_each_epoch(tmp_path: Path) -> None:
    from reference.training.alignment import _rows

    rows = [int(row) for step in range(6) for row in _rows(step, 4, 2, seed=1)]
    assert [sorted(rows[epoch : epoch + 4]) for epoch in (0, 4, 8)] == [[0, 1, 2, 3]] * 3


def test_untrainable_drafts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a calibration set must have at least one text, got none"):
        align(causal(1), causal(2), [], course(tmp_path), batch=2, loss="hard")
    with pytest.raises(ValueError, match="batch must be at least 1, got 0"):
        align(causal(1), causal(2), LESSONS, course(tmp_path), batch=0, loss="hard")


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
    betas = [
        scored(target, drafter, row[:2], row[2:18], STEPS, Sampling()).beta for row in ids.tolist()
    ]
    # float16 keeps the states to three digits.
    assert float(torch.stack(betas).mean()) == pytest.approx(trained[0], abs=2e-3)
