"""Prompts that do not fit are found before the first run."""

import pytest
from pairs import tiny_llama, tiny_pair

from estimator.timing.arms import require_positions
from ngram.drafters.copying import PromptLookupDrafter
from reference.drafters.model_drafter import HierarchicalDrafter, ModelDrafter, draft_model
from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.models.derived import transformers_module
from reference.records import Stopping
from reference.speculative import Subject

SAMPLING = Sampling()


def subject(new_tokens: int, *, draft_positions: int = 128) -> Subject:
    target, drafter = tiny_pair(SAMPLING)
    drafter.draft.max_length = draft_positions  # type: ignore[misc]
    return Subject(target, drafter, SAMPLING, Stopping(new_tokens))


def test_what_fits_is_taken() -> None:
    require_positions(subject(100), [[1] * 28, [1]])
    # The last token is never fed, to be scored or otherwise.
    require_positions(subject(11, draft_positions=20), [[1] * 10])


def test_the_longest_prompt_decides() -> None:
    with pytest.raises(ValueError, match=r"fit the 128 positions of target, got 29 \+ 100 tokens"):
        require_positions(subject(100), [[1], [1] * 29, [1, 2]])


def test_the_draft_must_have_room_to_score() -> None:
    with pytest.raises(ValueError, match=r"20 positions of the draft draft, got 10 \+ 12 tokens"):
        require_positions(subject(12, draft_positions=20), [[1] * 10])


def test_only_models_are_drafted_with_by_models() -> None:
    target = tiny_llama(seed=0)
    lookup = PromptLookupDrafter(device=target.device)
    model_drafter = ModelDrafter(target, SAMPLING, 50)
    assert draft_model(lookup) is None
    for drafter in (model_drafter, HierarchicalDrafter(model_drafter, lookup, 2)):
        draft = draft_model(drafter)
        assert draft is not None
        assert draft.vocabulary == 50
        assert transformers_module(draft) is target.module
    assert transformers_module(None) is None
    assert isinstance(target, CausalModel)
