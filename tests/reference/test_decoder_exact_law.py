"""The law of whole generated texts, enumerated in float64, is the target's own.

Every drafter is tried with every policy, with every sampling setting, and every policy with every
setting; each run is the real decoder's, with its chance replaced by choices that are all walked
through.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from reference.drafter import Draft
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Dense, Sampling
from reference.policies import Fixed
from reference.records import Stopping
from tests.reference.combinations import (
    DRAFT,
    DRAFTERS,
    POLICIES,
    PROMPT,
    SETTINGS,
    TARGET,
    VOCABULARY,
    model_drafter,
    once_each,
    table_text,
)
from tests.reference.decoding import alone, speculate
from tests.reference.enumeration import (
    STRICT_ACCEPTANCE,
    own_law,
    require_equal,
    require_own_law,
    walk_choices,
)
from tests.reference.plain_laws import plain_law, random_table
from tests.reference.tabular import Table, TabularModel

PLAIN = Sampling()


# A model's drafts under every policy and setting; the others meet each policy and each setting.
COMBINATIONS = [
    *itertools.product(["model"], POLICIES, SETTINGS),
    *once_each([drafter for drafter in DRAFTERS if drafter != "model"]),
]


@pytest.mark.parametrize(("drafter", "policy", "setting"), COMBINATIONS)
def test_law_of_texts_is_the_targets(
    drafter: str, policy: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampling = SETTINGS[setting]
    # Where fewer tokens are possible there is time for longer texts.
    many = drafter == "random" or setting in ("plain", "temperature", "repetition penalty")
    new_tokens = 3 if many else 4
    law = walk_choices(monkeypatch, STRICT_ACCEPTANCE).law(
        lambda: (
            table_text(DRAFTERS[drafter](sampling), sampling, POLICIES[policy], new_tokens).tokens
        )
    )
    # The random drafter's 1/3 is a float32.
    tolerance = 1e-7 if drafter == "random" else 1e-12
    require_own_law(law, TARGET, sampling, PROMPT, new_tokens=new_tokens, tolerance=tolerance)


def rotated(table: Table) -> Table:
    """Returns a table's laws with each token's mass on the next."""
    return lambda text: [table(text)[-1], *table(text)[:-1]]


ONE_TOKEN = random_table(4, VOCABULARY, zeros=VOCABULARY - 1)
PAIRS: dict[str, tuple[Table, Table]] = {
    "equal": (TARGET, TARGET),
    "equal with zeros": (DRAFT, DRAFT),
    "zeros in both": (random_table(5, VOCABULARY, zeros=1), DRAFT),
    "zeros in the target": (DRAFT, TARGET),
    "disjoint": (ONE_TOKEN, rotated(ONE_TOKEN)),
    "one certain token drafted": (TARGET, ONE_TOKEN),
}


@pytest.mark.parametrize("end_ids", [frozenset(), frozenset({2}), frozenset({0, 1})], ids=str)
@pytest.mark.parametrize("pair", PAIRS)
def test_law_of_texts_for_laws_that_coincide_or_exclude_each_other(
    pair: str, end_ids: frozenset[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    target, draft = PAIRS[pair]
    model, drafter, stopping = (
        TabularModel(target, VOCABULARY), model_drafter(draft, PLAIN), Stopping(4, end_ids)
    )  # fmt: skip
    law = walk_choices(monkeypatch, STRICT_ACCEPTANCE).law(
        lambda: speculate(model, drafter, PROMPT, PLAIN, Fixed(2), stopping).tokens
    )
    expected = own_law(target, PROMPT, new_tokens=4, end_ids=end_ids)
    require_equal(law, expected, tolerance=1e-12)


@pytest.mark.parametrize("setting", SETTINGS)
def test_law_of_plain_decoding_is_the_targets(
    setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampling, end = SETTINGS[setting], frozenset({2})
    model, stopping = TabularModel(TARGET, VOCABULARY), Stopping(3, end)
    walk = walk_choices(monkeypatch, {})
    law = walk.law(lambda: alone(model, PROMPT, sampling, stopping).tokens)

    def next_law(text: Sequence[int]) -> list[float]:
        return plain_law(TARGET(text), sampling, text)

    expected = own_law(next_law, PROMPT, new_tokens=3, end_ids=end)
    require_equal(law, expected, tolerance=1e-12)


def test_the_walk_sees_a_draft_that_misstates_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    class Misstating(ModelDrafter):
        def propose(self, *arguments: Any) -> Draft:
            draft = super().propose(*arguments)
            stated = 0.99 * draft.q.dense(VOCABULARY) + 0.01 / VOCABULARY
            return Draft(draft.tokens, Dense(stated))

    drafter = Misstating(TabularModel(DRAFT, VOCABULARY), PLAIN, VOCABULARY)
    law = walk_choices(monkeypatch, STRICT_ACCEPTANCE).law(
        lambda: table_text(drafter, PLAIN, Fixed(2), 3).tokens
    )
    with pytest.raises(AssertionError):
        require_equal(law, own_law(TARGET, PROMPT, new_tokens=3), tolerance=1e-3)
