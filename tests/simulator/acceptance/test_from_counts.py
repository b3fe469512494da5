"""Acceptance from counts: exact where counted, a law elsewhere, in doubt by their number."""

import numpy as np
import pytest

from simulator.acceptance.acceptance import Iid, iid_error
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.contradictory_counts import rising
from simulator.acceptance.from_counts import LONGEST, FromCounts, from_counts
from simulator.acceptance.rate_prior import (
    length_slopes,
    most_gamma,
    rate_prior,
    rates_of,
    workload_spread,
)
from simulator.acceptance.tokens import expected_tokens

RATES = (0.82, 0.61, 0.42, 0.28, 0.18)
KINDS = [None, "EAGLE", "MTP", "block", "model", "n-gram"]


def doubt(acceptance: FromCounts, *gammas: int) -> np.ndarray:
    return np.sqrt(np.diag(acceptance.log_lengths(gammas)[1]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rates", [RATES, (0.9,), (0.0, 0.0), (1.0, 1.0, 0.5), (0.9, 0.1, 0.09)])
def test_counted_rates_are_used_as_they_are(kind: str | None, rates: tuple[float, ...]) -> None:
    found = from_counts([Accepted.of_rates(rates)], draft_class=kind)
    gammas = np.arange(1, len(rates) + 1)
    assert found.tokens_per_call(gammas) == pytest.approx(1 + np.cumsum(rates), abs=1e-12)
    assert found.observed_gamma == len(rates)


def test_the_number_of_blocks_changes_the_doubt_and_nothing_else() -> None:
    few, many = (from_counts([Accepted.of_rates(RATES, drafts=n)]) for n in (50, 5000))
    gammas = np.arange(1, 17)
    assert few.tokens_per_call(gammas) == pytest.approx(many.tokens_per_call(gammas), rel=2e-3)
    # A hundred times as many blocks: a tenth of the error, where positions were counted.
    assert doubt(few, 3, 5) == pytest.approx(10 * doubt(many, 3, 5), rel=0.1)


def test_a_length_of_eight_short_prompts_is_known_to_five_per_cent() -> None:
    assert doubt(from_counts([Accepted(3, 2.85)]), 3) == pytest.approx(0.05, abs=0.005)


def test_doubt_of_counted_lengths_is_that_of_drawn_texts() -> None:
    """Blocks drawn from rates: the spread of mean lengths over 4,000 servers of 200 blocks.

    Drawn blocks are independent, so the factor for blocks of one text is divided out. The standard
    deviation of 4,000 draws has an error of 1.1 %; 5 of those are allowed, and the half blocks.
    """
    drafts, rates = 200, np.array(RATES)
    conditional = rates / np.array([1.0, *rates[:-1]])
    draws = np.random.default_rng(3).random((4000, drafts, 5)) < conditional
    logs = np.log(1 + draws.cumprod(axis=2).sum(axis=2).mean(axis=1))
    noise = Accepted.of_rates(RATES, drafts=drafts).noise()[-1, -1]
    assert np.sqrt(noise / 2.6) == pytest.approx(logs.std(), rel=0.07)


@pytest.mark.parametrize(
    ("counted", "alpha"),
    [
        # As --block-efficiency 2.85 --at-gamma 3 has it: 1 + α + α² + α³ = 2.85.
        ([Accepted(3, 2.85)], 0.7770),
        # Accepted over accepted and rejected: 2.31 / (2.31 + 0.82).
        ([Accepted.of_rates(RATES)], 2.31 / 3.13),
        ([Accepted(3, 1.0)], 0.0),
        ([Accepted(3, 4.0)], 1.0),
    ],
)
def test_alpha_of_counts_is_the_counted_one(counted: list[Accepted], alpha: float) -> None:
    assert from_counts(counted).alpha == pytest.approx(alpha, abs=1e-4)


def test_lengths_of_equal_rates_give_them_back() -> None:
    counted = [Accepted(g, float(expected_tokens(0.75, g)), drafts=1e6) for g in (1, 3, 7)]
    found = from_counts(counted)
    assert found.conditional[:7] == pytest.approx(np.full(7, 0.75), abs=0.04)
    assert found.tokens_per_call(5) == pytest.approx(expected_tokens(0.75, 5), rel=0.01)


@pytest.mark.parametrize(
    ("kind", "lengths", "gamma", "measured"),
    [
        # Apertus 8B, DSpark, one sequence: published at γ 1 to 7 (docs/roofline.md).
        ("block", {1: 1.886, 7: 4.53}, 3, 3.2721),
        ("block", {1: 1.886, 3: 3.2721}, 5, 4.1841),
        # Qwen3.8 27B, its own head for several tokens: γ 1 to 8.
        ("MTP", {1: 1.78, 4: 2.89}, 2, 2.32),
        ("MTP", {2: 2.32, 4: 2.89}, 8, 3.31),
    ],
)
def test_published_lengths_lie_within_the_intervals_of_others(
    kind: str, lengths: dict[int, float], gamma: int, measured: float
) -> None:
    found = from_counts(
        [Accepted(*each, drafts=2000) for each in lengths.items()], draft_class=kind
    )
    (mean,), ((variance,),) = found.log_lengths([gamma])
    assert abs(np.log(measured) - mean) < 1.645 * np.sqrt(variance) < 0.12


def test_doubt_grows_away_from_the_counts() -> None:
    for counted in ([Accepted(3, 2.6, drafts=1e5)], [Accepted.of_rates((0.7, 0.5, 0.4))]):
        assert (np.diff(doubt(from_counts(counted), 3, 5, 8, 16)) > 0).all()


def test_kinds_go_on_differently_beyond_the_counts() -> None:
    """Draft models and copies stay as good, heads fall, reused modules fall fastest."""
    counted = [Accepted.of_rates((0.7, 0.49), drafts=1e4)]
    tokens = {kind: from_counts(counted, draft_class=kind).tokens_per_call(6) for kind in KINDS}
    assert tokens["n-gram"] > tokens["EAGLE"]
    assert tokens["model"] > tokens["EAGLE"]
    assert tokens["MTP"] < tokens["model"]


def test_rates_and_lengths_of_several_runs_join() -> None:
    rates, length = Accepted.of_rates((0.7, 0.5, 0.4), drafts=400), Accepted(6, 3.1, drafts=400)
    found = from_counts([rates, length])
    assert found.tokens_per_call([1, 2, 3, 6]) == pytest.approx([1.7, 2.2, 2.6, 3.1], rel=2e-3)
    assert found.observed_gamma == 6
    assert not found.contradictions
    assert doubt(found, 6) < doubt(from_counts([rates]), 6)
    together = from_counts([Accepted.of_rates((0.6, 0.3), drafts=300),
                            Accepted.of_rates((0.8, 0.5, 0.3), drafts=100)])  # fmt: skip
    assert together.conditional[:3] == pytest.approx([0.65, (0.9 + 0.5) / 2.6, 0.6])


def test_counts_that_contradict_each_other_are_named_and_widen_the_doubt() -> None:
    first, other = (Accepted(3, length, drafts=4000) for length in (2.85, 2.2))
    found = from_counts([first, other])
    assert "2.85 tokens per call at gamma 3 do not fit the other counts" in found.contradictions[0]
    assert len(found.contradictions) == 2
    assert doubt(found, 3) > 3 * doubt(from_counts([first]), 3)
    assert not from_counts([first, first]).contradictions
    assert doubt(from_counts([first, first]), 3) < doubt(from_counts([first]), 3)


def test_lengths_that_fall_with_gamma_are_kept() -> None:
    """DeepSeek-V4 with DSpark: 3.77 at γ 6, 3.73 at 7, 3.47 at 8 (InferenceX)."""
    lengths = {6: 3.77, 7: 3.73, 8: 3.47}
    found = from_counts([Accepted(*each) for each in lengths.items()], draft_class="block")
    assert found.tokens_per_call([6, 7, 8]) == pytest.approx([3.77, 3.73, 3.47])


def test_lengths_beyond_a_fall_do_not_return_to_the_contradicted_rates() -> None:
    """Rates give 1.87 tokens at γ 3, another run 1.70 at 5: from 5 on no length is above 1.70."""
    acceptance = from_counts([Accepted.of_rates([0.5, 0.25, 0.12]), Accepted(5, 1.7)])
    assert acceptance.tokens_per_call([3, 5]) == pytest.approx([1.87, 1.7])
    assert 1.7 < acceptance.tokens_per_call(4) < 1.87
    assert acceptance.tokens_per_call(np.arange(6, 13)) == pytest.approx(1.7, rel=1e-3)


def test_other_workloads_widen_every_length() -> None:
    counted = [Accepted(3, 2.85, drafts=1e6)]
    here, elsewhere = (from_counts(counted, elsewhere=spread) for spread in (0.0, 0.5))
    assert elsewhere.tokens_per_call(3) == here.tokens_per_call(3)
    assert doubt(elsewhere, 3) > 0.1 > 10 * doubt(here, 3)
    assert 0.2 < workload_spread() < 1.0


@pytest.mark.parametrize(
    ("kind", "observed", "most"),
    [(None, 1, 3), ("EAGLE", 3, 5), ("MTP", 8, 10), ("model", 1, 3), ("model", 5, 10),
     ("n-gram", 8, 16)],
)  # fmt: skip
def test_advice_stays_near_the_counted_lengths(kind: str | None, observed: int, most: int) -> None:
    assert most_gamma(kind, observed) == most
    assert from_counts([Accepted(observed, 1.5)], draft_class=kind).most_gamma == most
    rates = Accepted.of_rates((0.85,) * observed)
    assert from_counts([rates], draft_class=kind).most_gamma == most


def test_lengths_alone_do_not_tell_whether_positions_are_alike() -> None:
    assert iid_error(from_counts([Accepted(3, 2.85)]), max_gamma=8) is None
    assert iid_error(from_counts([Accepted.of_rates(RATES)]), max_gamma=8) is not None


def test_slopes_are_those_of_small_differences() -> None:
    logits, gammas = np.linspace(1.1, -1.0, LONGEST), np.array([1, 4, 9])

    def logs(logits: np.ndarray) -> np.ndarray:
        return np.log(1 + np.cumsum(np.cumprod(rates_of(logits))))[gammas - 1]

    slopes = length_slopes(rates_of(logits), gammas)
    for index in (0, 2, 5, 9):
        step = 1e-6 * np.eye(LONGEST)[index]
        differences = (logs(logits + step) - logs(logits - step)) / 2e-6
        assert slopes[:, index] == pytest.approx(differences, abs=1e-8)


def test_without_counts_the_law_of_the_kind_is_left() -> None:
    found = from_counts([], draft_class="EAGLE")
    first = rate_prior("EAGLE").first
    assert found.tokens_per_call(1) == pytest.approx(1 + 1 / (1 + np.exp(-first)))
    assert doubt(found, 3) > 3 * doubt(from_counts([Accepted(3, 2.5)], draft_class="EAGLE"), 3)
    assert found.observed_gamma == 0


def test_every_kind_has_a_law_and_one_without_data_has_the_law_of_all() -> None:
    for kind in KINDS:
        mean, covariance = rate_prior(kind).law(12)
        assert mean.shape == (12,)
        assert np.linalg.eigvalsh(covariance).min() > 0
    assert rate_prior("tree").first == rate_prior(None).first


@pytest.mark.parametrize(
    ("lengths", "steps"),
    [
        ({2: 1.87, 3: 2.33}, "a position adds 0.46 tokens there, and 0.44 before"),
        ({2: 1.87, 3: 2.30}, "adds 0.43 tokens there, and 0.44 before"),
        ({3: 2.6, 5: 2.4}, "adds -0.10 tokens there, and 0.53 before"),
        ({2: 1.5, 4: 3.5}, "adds 1.00 tokens there, and 0.25 before"),
    ],
)
def test_lengths_that_cannot_be_of_the_same_requests_are_named(
    lengths: dict[int, float], steps: str
) -> None:
    (sentence,) = rising(lengths)
    assert steps in sentence
    assert sentence.startswith(f"{lengths[max(lengths)]:g} tokens per call at gamma {max(lengths)}")


@pytest.mark.parametrize(
    "lengths",
    [{3: 2.33}, {2: 1.87, 3: 2.1}, {3: 2.6, 5: 3.0}, {3: 3.7, 5: 5.2}, {2: 3.0, 4: 5.0},
     {2: 1.0, 3: 1.0}, {2: 1.15, 5: 1.2}, {1: 1.76, 2: 2.25, 3: 2.6}],
)  # fmt: skip
def test_lengths_that_fit_are_not_named(lengths: dict[int, float]) -> None:
    assert rising(lengths) == ()


@pytest.mark.parametrize("kind", [None, "EAGLE", "MTP", "model"])
def test_beyond_contradicting_lengths_the_law_holds(kind: str | None) -> None:
    """Taken as exact, these two lengths accept every third position: 12 to 15 tokens at 32.

    The law moved to a single length has at most 3.
    """
    counts = [Accepted(2, 1.87), Accepted(3, 2.33)]
    found = from_counts(counts, draft_class=kind)
    assert found.tokens_per_call(np.array([2, 3])) == pytest.approx([1.87, 2.33])
    assert len(found.contradictions) == 1
    singles = [from_counts([count], draft_class=kind) for count in counts]
    limits = [float(single.tokens_per_call(32)) for single in singles]
    assert min(limits) - 0.1 < float(found.tokens_per_call(32)) < max(limits) + 0.1


GAMMAS = np.arange(1, 8)


def tokens(context: int) -> np.ndarray:
    """Returns lengths whose rates' logits fall by 0.4 where the context is e times as long."""
    logits = 1.2 - 0.4 * np.log(context / 4096) - 0.2 * np.log(GAMMAS)
    return 1 + np.cumsum(np.cumprod(1 / (1 + np.exp(-logits))))


def counted(*contexts: int) -> list[Accepted]:
    return [
        Accepted(gamma, float(tokens(context)[gamma - 1]), drafts=1e4, context=context)
        for context in contexts
        for gamma in (1, 3, 7)
    ]


def test_one_context_tells_of_all_alike() -> None:
    found = from_counts(counted(4096))
    assert found.tokens_per_call([1, 3, 7]) == pytest.approx(tokens(4096)[[0, 2, 6]])
    assert found.at_context(65536) is found


@pytest.mark.parametrize("context", [1024, 8192, 65536])
def test_two_contexts_tell_of_a_third(context: int) -> None:
    found = from_counts(counted(1024, 16384)).at_context(context)
    assert found.tokens_per_call(GAMMAS) == pytest.approx(tokens(context), rel=0.03)


def test_doubt_grows_away_from_the_contexts_that_were_run() -> None:
    found = from_counts(counted(1024, 16384))
    near, far = (found.at_context(context).log_lengths([7])[1] for context in (4096, 1 << 20))
    assert far > 2 * near


def test_counts_without_a_context_hold_at_every_context() -> None:
    assert Iid(0.7).at_context(9) == Iid(0.7)


def test_a_rate_of_one_after_a_small_rate_leaves_later_rates_possible() -> None:
    """A search that starts at the prior ends at another, far less probable estimate."""
    acceptance = from_counts([Accepted.of_rates([1 / 3, 1 / 3, 0.309, 0.276])])
    assert min(acceptance.conditional[4:]) > 0.8
