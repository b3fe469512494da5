"""A text is scored stretch by stretch: the same scores as at once, from one pass of each model."""

from collections.abc import Sequence
from dataclasses import fields

import pytest
import torch
from torch import Tensor

import reference.drafter
from reference.drafter import Drafter, score_text
from reference.laws import Sampling
from reference.records import Stopping
from reference.scoring import ScoreOptions, Scores
from tests.reference.combinations import (
    DRAFT,
    DRAFTERS,
    PROMPT,
    SETTINGS,
    TARGET,
    VOCABULARY,
    model_drafter,
)
from tests.reference.decoding import alone
from tests.reference.plain_laws import plain_law
from tests.reference.tabular import Table, TabularModel

TOKENS = 13
GAMMA = 4
LENIENCES = (1.0, 0.6, 0.2)
SAMPLINGS = (Sampling(0.8), Sampling(0.0))


class Counting(TabularModel):
    """A table that remembers how many tokens each pass took."""

    def __init__(self, table: Table, vocabulary: int) -> None:
        super().__init__(table, vocabulary)
        self.passes: list[int] = []

    def extend(self, tokens: Tensor, parents: Sequence[int] | None = None) -> Tensor:
        self.passes.append(len(tokens))
        return super().extend(tokens, parents)


def own_text(sampling: Sampling) -> tuple[int, ...]:
    target, generator = TabularModel(TARGET, VOCABULARY), torch.Generator().manual_seed(3)
    return alone(target, PROMPT, sampling, Stopping(TOKENS), generator=generator).tokens


def scores(target: TabularModel, drafter: Drafter, sampling: Sampling) -> list[Scores]:
    options = ScoreOptions(SAMPLINGS, LENIENCES, GAMMA)
    return score_text(target, drafter, PROMPT, own_text(sampling), options, sampling=sampling)


@pytest.mark.parametrize("positions", [1, 3, 12])
@pytest.mark.parametrize("setting", ["plain", "greedy", "repetition penalty"])
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_stretches_of_any_length_give_the_scores_of_the_whole(
    drafter: str, setting: str, positions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampling = SETTINGS[setting]
    target = TabularModel(TARGET, VOCABULARY)
    whole = scores(target, DRAFTERS[drafter](sampling), sampling)
    monkeypatch.setattr(reference.drafter, "ROW_NUMBERS", positions * VOCABULARY + 1)
    cut = scores(target, DRAFTERS[drafter](sampling), sampling)
    for one, other in zip(whole, cut, strict=True):
        for column in fields(Scores):
            first, second = (getattr(each, column.name) for each in (one, other))
            assert first is second is None or torch.equal(first, second)


def test_each_model_reads_the_text_once_in_passes_of_bounded_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both ways of sampling and three leniences together; rows held never exceed the bound."""
    monkeypatch.setattr(reference.drafter, "ROW_NUMBERS", 5 * VOCABULARY)
    target, draft = Counting(TARGET, VOCABULARY), Counting(DRAFT, VOCABULARY)
    drafter = model_drafter(DRAFT, Sampling())
    drafter.draft = draft
    found = scores(target, drafter, Sampling())
    assert len(found) == len(SAMPLINGS)
    assert target.passes == draft.passes == [5, 5, 3]


@pytest.mark.parametrize("setting", ["plain", "temperature", "top-p", "greedy"])
def test_scores_are_those_of_the_laws_longhand(setting: str) -> None:
    """Theorem 5 and A.5 of Leviathan et al. 2023, for a draft drawn warm and one by argmax."""
    sampling = SETTINGS[setting]
    tokens = own_text(sampling)
    found = scores(TabularModel(TARGET, VOCABULARY), model_drafter(DRAFT, sampling), sampling)
    for own, scored in zip(SAMPLINGS, found, strict=True):
        for place, token in enumerate(tokens):
            text = [*PROMPT, *tokens[:place]]
            p, q = plain_law(TARGET(text), sampling, text), plain_law(DRAFT(text), own, text)
            beta = sum(min(x, y) for x, y in zip(p, q, strict=True))
            assert scored.beta[place] == pytest.approx(beta, abs=1e-12)
            assert scored.acceptance[place] == pytest.approx(min(1, q[token] / p[token]), abs=1e-12)
            for lenience, lenient in zip(LENIENCES, scored.lenient_beta[place], strict=True):
                if sampling.greedy:
                    likely = TARGET(text)
                    kept = [mass >= lenience * max(likely) for mass in likely]
                    expected = sum(y for y, keeps in zip(q, kept, strict=True) if keeps)
                else:
                    expected = sum(min(x / lenience, y) for x, y in zip(p, q, strict=True))
                assert lenient == pytest.approx(expected, abs=1e-12)
