"""Laws: settings equal transformers' own warpers, and tokens are drawn in proportion to them."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from reference.drafters.model_drafter import ModelDrafter
from reference.laws import (
    Dense,
    Laws,
    OneHot,
    Sampling,
    concatenate,
    draw,
    likeliest,
    precise,
    seeded,
)
from reference.models.model import peaks
from reference.policies import Fixed
from tests.reference.plain_laws import plain_law, random_table
from tests.reference.tabular import TabularModel

VOCABULARY = 32
TEXT = [3, 0, 31, 3, 7]


def random_logits(rows: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Returns rows with ties and impossible tokens among them."""
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(rows, VOCABULARY, generator=generator, dtype=torch.float64)
    logits[:, ::3] = logits[:, ::3].round()
    logits[:, 5] = -torch.inf
    return logits.to(dtype)


def warped(sampling: Sampling, logits: Tensor, text: Sequence[int]) -> Tensor:
    """Returns the law that transformers' processors make of one row, in the order it has them."""
    processors: list[Any] = []
    if sampling.repetition_penalty != 1:
        processors.append(RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty))
    if sampling.temperature not in (0, 1):
        processors.append(TemperatureLogitsWarper(sampling.temperature))
    if sampling.top_k is not None:
        processors.append(TopKLogitsWarper(sampling.top_k))
    if sampling.top_p < 1:
        processors.append(TopPLogitsWarper(sampling.top_p))
    if sampling.min_p > 0:
        processors.append(MinPLogitsWarper(sampling.min_p))
    scores = LogitsProcessorList(processors)(torch.tensor([text]), logits[None])[0]
    if sampling.temperature == 0:
        return torch.nn.functional.one_hot(scores.argmax(), VOCABULARY).float()
    return scores.softmax(dim=-1)


SETTINGS = [
    Sampling(),
    Sampling(0.3),
    Sampling(2.0),
    *(Sampling(top_k=k) for k in (1, 2, 10, 31, 32, 1000)),
    *(Sampling(top_p=p) for p in (1e-9, 1e-6, 0.2, 0.5, 0.9, 0.999)),
    *(Sampling(min_p=p) for p in (0.01, 0.2, 1.0)),
    *(Sampling(repetition_penalty=penalty) for penalty in (0.5, 1.2, 3.0)),
    Sampling(0.0),
    Sampling(0.0, repetition_penalty=1.5),
    Sampling(0.7, top_k=12, top_p=0.95, min_p=0.05, repetition_penalty=1.1),
    Sampling(1.8, top_k=20, top_p=0.7, repetition_penalty=0.8),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sampling", SETTINGS, ids=str)
def test_law_is_that_of_transformers_warpers(sampling: Sampling, dtype: torch.dtype) -> None:
    for seed in range(5):
        logits = random_logits(1, seed, dtype)
        law = sampling.laws(logits, TEXT).dense(VOCABULARY)[0]
        torch.testing.assert_close(law, warped(sampling, logits[0], TEXT).to(law.dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("sampling", SETTINGS, ids=str)
def test_a_law_of_broken_logits_is_not_finite(sampling: Sampling, dtype: torch.dtype) -> None:
    """The message names the logits, wherever in a row the fault is."""
    for fault in (torch.nan, torch.inf):
        logits = random_logits(VOCABULARY + 1, 3, dtype)
        logits[range(VOCABULARY), range(VOCABULARY)] = fault
        finite = sampling.laws(logits, TEXT).witness.isfinite()
        assert finite.tolist() == [False] * VOCABULARY + [True]
        assert torch.equal(finite, peaks(logits).isfinite())
    impossible = sampling.laws(torch.full((1, VOCABULARY), -torch.inf, dtype=dtype), TEXT)
    assert not impossible.witness.isfinite()


@pytest.mark.parametrize("sampling", SETTINGS, ids=str)
def test_law_is_that_of_the_settings_written_out(sampling: Sampling) -> None:
    """The oracle of the exactness tests, against the code on rows with ties."""
    logits = random_logits(1, 9, torch.float64)
    probabilities = logits.softmax(dim=-1)
    law = sampling.laws(probabilities.log(), TEXT).dense(VOCABULARY)[0]
    expected = plain_law(probabilities[0].tolist(), sampling, TEXT)
    torch.testing.assert_close(law.double(), torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("sampling", SETTINGS, ids=str)
def test_laws_of_many_positions_are_those_of_decoding_one_by_one(sampling: Sampling) -> None:
    """The penalty at each position counts the text and the tokens drafted before it."""
    drafted = torch.tensor([9, 9, 0, 17])
    logits = random_logits(5, 6)
    together = sampling.laws(logits, TEXT, [drafted]).dense(VOCABULARY)
    for row in range(5):
        text = [*TEXT, *drafted[:row].tolist()]
        alone = sampling.laws(logits[row : row + 1], text).dense(VOCABULARY)[0]
        torch.testing.assert_close(together[row], alone, rtol=1e-6, atol=0)
        torch.testing.assert_close(together[row], warped(sampling, logits[row], text))


def test_a_whole_texts_positions_are_penalised_by_their_own_prefixes() -> None:
    """As scoring does: the first row follows the prompt's only token."""
    laws = Sampling(0.0, repetition_penalty=2.0).laws(
        torch.tensor([[3.0, 2.0, 1.9], [3.0, 2.0, 1.9], [3.0, 2.0, 1.9]]),
        [0],
        [torch.tensor([1, 2])],
    )
    assert isinstance(laws, OneHot)
    assert laws.tokens.tolist() == [1, 2, 0]


def test_a_draft_penalises_the_tokens_that_it_drafted_itself() -> None:
    """To forget them would leave the output as it is, but alpha lower than it could be."""
    sampling = Sampling(repetition_penalty=4.0)
    table = random_table(3, 8)
    drafter = ModelDrafter(TabularModel(table, 8), sampling, 8)
    drafter.start([1, 2], [1, 2])
    draft = drafter.propose([1, 2], 5, Fixed(5), torch.Generator().manual_seed(0))
    tokens = draft.tokens.tolist()
    for row, law in enumerate(draft.q.dense(8)):
        text = [1, 2, *tokens[:row]]
        expected = torch.tensor(plain_law(table(text), sampling, text), dtype=law.dtype)
        torch.testing.assert_close(law, expected)


def test_greedy_ties_go_to_the_smallest_id_at_one_position_and_at_many() -> None:
    logits = torch.tensor([1.0, 4.0, 4.0, 4.0]).expand(3, -1)
    for rows in (logits, logits[:1]):
        laws = Sampling(0.0).laws(rows, TEXT)
        assert isinstance(laws, OneHot)
        assert set(laws.tokens.tolist()) == {1}


def test_temperature_zero_is_the_one_hot_argmax_and_remembers_its_logits() -> None:
    logits = random_logits(2, 3)
    laws = Sampling(0.0).laws(logits, TEXT)
    assert isinstance(laws, OneHot)
    assert torch.equal(laws.dense(VOCABULARY).argmax(dim=-1), logits.argmax(dim=-1))
    assert torch.equal(laws.dense(VOCABULARY).sum(dim=-1), torch.ones(2))
    hidden = laws.at_temperature_one()
    assert hidden is not None
    torch.testing.assert_close(hidden.probabilities, logits.softmax(dim=-1))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "sampling", [Sampling(), Sampling(0.7), Sampling(repetition_penalty=1.3)], ids=str
)
def test_half_precision_logits_make_single_precision_laws(
    sampling: Sampling, dtype: torch.dtype
) -> None:
    for seed in range(5):
        logits = random_logits(1, seed, dtype)
        laws = sampling.laws(logits, TEXT)
        assert isinstance(laws, Dense)
        assert laws.probabilities.dtype == torch.float32
        expected = warped(sampling, logits[0].float(), TEXT)
        torch.testing.assert_close(laws.probabilities[0], expected)


def test_the_least_temperature_overflows_nothing() -> None:
    law = Sampling(1e-6).laws(torch.tensor([[65504.0, 65503.0, -65504.0]]), [0])
    assert law.dense(3).tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -0.1}, "temperature must be 0, or finite and at least 1e-06, got -0.1"),
        ({"temperature": 1e-9}, "temperature must be 0, or finite and at least 1e-06, got 1e-09"),
        ({"temperature": float("nan")}, "temperature must be 0, or finite .* got nan"),
        ({"temperature": float("inf")}, "temperature must be 0, or finite .* got inf"),
        ({"top_k": 0}, "top_k must be at least 1, got 0"),
        ({"top_p": 0.0}, r"top_p must lie in \(0, 1\], got 0.0"),
        ({"top_p": 1.1}, r"top_p must lie in \(0, 1\], got 1.1"),
        ({"min_p": -0.1}, r"min_p must lie in \[0, 1\], got -0.1"),
        ({"min_p": float("nan")}, r"min_p must lie in \[0, 1\], got nan"),
        ({"min_p": 1.5}, r"min_p must lie in \[0, 1\], got 1.5"),
        ({"repetition_penalty": 0.0}, "repetition_penalty must be finite and above 0, got 0.0"),
        ({"repetition_penalty": float("inf")}, "repetition_penalty must be finite .*, got inf"),
        ({"repetition_penalty": float("nan")}, "repetition_penalty must be finite .*, got nan"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message):
        Sampling(**settings)


def test_the_token_is_the_first_beyond_the_generators_share_of_the_total() -> None:
    weights = torch.rand(3, 5000, generator=torch.Generator().manual_seed(1))
    for seed in range(20):
        tokens = draw(weights, torch.Generator().manual_seed(seed))
        share = torch.rand(3, 1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        cumulative = weights.double().cumsum(dim=-1)
        # The share falls on an edge with odds of 1e-12.
        beyond = (cumulative <= share * cumulative[:, -1:]).sum(dim=-1)
        assert tokens.tolist() == beyond.tolist()
        assert Dense(weights).draw(torch.Generator().manual_seed(seed)).tolist() == beyond.tolist()


def test_weights_are_summed_in_double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    # In single precision 2^24 + 1 is 2^24, and the second token could never be drawn.
    weights = torch.tensor([[2.0**24, 1.0, 1.0, 1.0, 1.0]])
    share = torch.tensor([[(2**24 + 0.5) / (2**24 + 4)]], dtype=torch.float64)
    monkeypatch.setattr(torch, "rand", lambda *_, **__: share)
    assert draw(weights, torch.Generator()).tolist() == [1]


@pytest.mark.parametrize(("share", "token"), [(0.0, 1), (0.5, 3)])
def test_a_share_on_an_edge_draws_the_next_token_that_has_weight(
    share: float, token: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "rand", lambda *_, **__: torch.tensor([[share]]).double())
    assert draw(torch.tensor([[0.0, 1.0, 0.0, 1.0]]), torch.Generator()).tolist() == [token]


def test_streams_differ_by_every_number_of_their_seed() -> None:
    device = torch.device("cpu")
    states = {seeded(device, *seed).initial_seed() for seed in [(0, 0), (0, 1), (1, 0), (0, 0, 0)]}
    assert len(states) == 4
    assert seeded(device, 0, 1).initial_seed() == seeded(device, 0, 1).initial_seed()
    # 63 bits, all that a generator takes: no seed has the highest one with a chance of 2^-64.
    assert max(seeded(device, seed).initial_seed() for seed in range(64)).bit_length() == 63


def test_the_first_and_the_last_token_are_drawn() -> None:
    generator = torch.Generator().manual_seed(0)
    assert draw(torch.eye(3), generator).tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [(4,), (2, 4), (3, 2, 4)])
def test_every_row_has_its_own_token_whatever_stands_before_the_last_axis(
    shape: tuple[int, ...],
) -> None:
    weights = torch.zeros(shape)
    weights[..., 2] = 1.0
    tokens = draw(weights, torch.Generator().manual_seed(0))
    assert tokens.shape == shape[:-1]
    assert set(tokens.flatten().tolist()) == {2}


def test_weights_that_are_no_numbers_still_give_ids() -> None:
    tokens = draw(torch.full((2, 3), torch.nan), torch.Generator().manual_seed(0))
    assert all(0 <= token < 3 for token in tokens.tolist())


def test_double_precision_stays_and_half_becomes_single() -> None:
    given = torch.float64, torch.float32, torch.bfloat16
    found = [precise(torch.zeros(2, dtype=dtype)).dtype for dtype in given]
    assert found == [torch.float64, torch.float32, torch.float32]


@pytest.mark.parametrize("width", [8, 4096])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_the_likeliest_is_the_first_of_the_largest_and_nan_is_larger_still(
    dtype: torch.dtype, width: int
) -> None:
    logits = torch.zeros(5, width, dtype=dtype)
    logits[1, 3:] = 2
    logits[2, 4:6] = torch.inf
    logits[3, [1, 5]] = torch.nan
    logits[4, :7] = -torch.inf
    assert likeliest(logits).tolist() == [0, 3, 4, 1, 7]


def test_a_certain_law_without_logits_hides_none() -> None:
    assert OneHot(torch.tensor([1])).at_temperature_one() is None


def test_a_greedy_law_keeps_the_logits_behind_each_row_wherever_it_goes() -> None:
    logits = torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0], [0.0, 1.0, 2.0]])
    laws = OneHot(logits.argmax(dim=-1), logits)
    bare = OneHot(logits.argmax(dim=-1))
    for part, rows in (
        (laws.first(2), [0, 1]),
        (laws.at(torch.tensor([2, 0])), [2, 0]),
        (concatenate([laws.first(1), laws.at(torch.tensor([2]))]), [0, 2]),
        (laws.split()[1], [1]),
    ):
        assert isinstance(part, OneHot)
        assert part.logits is not None
        assert part.logits.tolist() == logits[rows].tolist()
        assert part.tokens.tolist() == logits[rows].argmax(dim=-1).tolist()
    for without in (
        bare.first(1), bare.at(torch.tensor([1])), concatenate([laws, bare]), bare.split()[2]
    ):  # fmt: skip
        assert isinstance(without, OneHot)
        assert without.logits is None


@pytest.mark.parametrize(
    "laws", [OneHot(torch.tensor([2, 0, 1])), Dense(torch.eye(3)[:, [1, 2, 0]])], ids=type
)
def test_laws_split_into_one_for_each_position(laws: Laws) -> None:
    parts = laws.split()
    assert [part.dense(3).shape for part in parts] == [(1, 3)] * 3
    assert torch.equal(torch.cat([part.dense(3) for part in parts]), laws.dense(3))
    assert laws.first(0).split() == []


LOGITS = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()


@pytest.mark.parametrize(
    ("settings", "law"),
    [
        ({"top_k": 1}, [1.0, 0.0, 0.0, 0.0]),
        ({"min_p": 1.0}, [1.0, 0.0, 0.0, 0.0]),
        ({"min_p": 0.0}, [0.5, 0.3, 0.15, 0.05]),
        ({"top_p": 1.0}, [0.5, 0.3, 0.15, 0.05]),
        ({"repetition_penalty": 1.0}, [0.5, 0.3, 0.15, 0.05]),
        ({"temperature": 1e-6}, [1.0, 0.0, 0.0, 0.0]),
    ],
)
def test_the_ends_of_a_range_belong_to_it(settings: dict[str, Any], law: list[float]) -> None:
    found = Sampling(**settings).laws(LOGITS, [0]).dense(4)[0]
    torch.testing.assert_close(found, torch.tensor(law))


def test_a_sum_of_exactly_top_p_is_the_nucleus() -> None:
    # Four tokens of a quarter each, exactly: three of them have a mass of 0.75.
    law = Sampling(top_p=0.75).laws(torch.zeros(1, 4), [0]).dense(4)
    assert int((law > 0).sum()) == 3
