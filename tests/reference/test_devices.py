"""Everything computed from tensors is computed on their device, not on the default device.

No second device is needed to see it: under a default device without storage ("meta"), what names no
device of its own cannot be used together with the given tensors.
"""

from collections.abc import Callable

import pytest
import torch

from reference.drafter import Draft
from reference.laws import Dense, Laws, OneHot, Sampling, draw, overlap
from reference.rules import Lenient, Rule, Strict, residual
from reference.scoring import Stretch, score_laws
from reference.verify import verify

LOGITS = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
DENSE = Dense(LOGITS.softmax(dim=-1))
CERTAIN = OneHot(LOGITS.argmax(dim=-1), LOGITS)
TOKENS = torch.tensor([5, 0, 3])
TEXT = [2, 2, 0, 1]


def generator() -> torch.Generator:
    return torch.Generator("cpu").manual_seed(0)


@pytest.mark.parametrize("rule", [Strict(), Lenient(0.5)], ids=["strict", "lenient"])
@pytest.mark.parametrize("p", [DENSE, CERTAIN], ids=["sampled", "greedy target"])
@pytest.mark.parametrize("q", [DENSE, CERTAIN], ids=["sampled", "greedy draft"])
def test_verification_stays_where_the_laws_lie(p: Laws, q: Laws, rule: Rule) -> None:
    for gamma in (0, 3):
        here = verify(p, Draft(TOKENS[:gamma], q.first(gamma)), rule=rule, generator=generator())
        with torch.device("meta"):
            found = verify(
                p, Draft(TOKENS[:gamma], q.first(gamma)), rule=rule, generator=generator()
            )
        assert [part.tolist() for part in found] == [part.tolist() for part in here]


@pytest.mark.parametrize(
    "compute",
    [
        lambda: Sampling(repetition_penalty=2.0).laws(LOGITS, TEXT, [TOKENS]).dense(6),
        lambda: Sampling(0.0, repetition_penalty=2.0).laws(LOGITS, TEXT, [TOKENS]).dense(6),
        lambda: Sampling(0.7, top_k=3, top_p=0.9, min_p=0.1).laws(LOGITS, TEXT).dense(6),
        lambda: CERTAIN.dense(6),
        lambda: draw(DENSE.probabilities, generator()),
        lambda: overlap(DENSE, CERTAIN),
        lambda: residual(DENSE.probabilities, CERTAIN),
        lambda: score_laws(Stretch(TEXT, TEXT, DENSE), CERTAIN, ()).acceptance,
    ],
)
def test_laws_stay_where_the_logits_lie(compute: Callable[[], torch.Tensor]) -> None:
    here = compute()
    with torch.device("meta"):
        found = compute()
    assert found.tolist() == here.tolist()
