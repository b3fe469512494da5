"""Our own figures, as numbers."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from figures.numbers import results
from figures.ours import batch_size, block_verification, formulas, recorded
from figures.ours.batch_size import ALPHA, FigureLoad
from figures.registry import FIGURES
from simulator.choice.walltime import lower_bound, operations_factor
from simulator.cost.roofline.deployment import needed_bytes
from specplan.main import main


def test_the_map_speculates_exactly_where_alpha_exceeds_c() -> None:
    alphas, costs, gamma, speedup = np.transpose(formulas.compute_map().cells).reshape(4, 81, 96)
    assert ((gamma > 0) == (alphas > costs)).all()
    assert gamma.max() < formulas.MAP_MAX_GAMMA
    assert (speedup[gamma == 0] == 1).all()
    assert (speedup >= lower_bound(alphas, costs) - 1e-12).all()
    assert (np.diff(speedup, axis=1) >= -1e-12).all()  # rises with α
    assert (np.diff(speedup, axis=0) <= 1e-12).all()  # falls with c


def test_block_verification_gains_beyond_one_drafted_token_and_more_in_longer_drafts() -> None:
    for gained, error in block_verification.gains(block_verification.compute()).values():
        margin = 5 * error  # odds of a false alarm: 3e-7 a side
        assert (gained > -margin).all()
        assert abs(gained[0]) < margin[0]
        line = dict(zip(block_verification.GAMMAS, gained, strict=True))
        assert line[16] > line[2] > 0


def test_the_best_tree_is_never_below_another_shape_and_goes_on_gaining() -> None:
    data = formulas.compute_trees()
    for _, best, *others in data.cells:
        assert best >= max(others) - 1e-12
    best, single = data["best"], data["single"]
    assert all(later > earlier + 0.02 for earlier, later in pairwise(best))
    # A chain's tokens end at 1 / (1 - a_1), however long it is.
    assert single[-1] == pytest.approx(1 / (1 - formulas.RATES[0]))
    assert best[-1] > 1.5 * single[-1]


def test_a_hierarchy_gains_the_more_the_better_its_cheap_drafter() -> None:
    lines = np.reshape(formulas.compute_hierarchy()["speedup"], (4, -1))
    assert (np.diff(lines, axis=0) > 0).all()
    assert (np.diff(lines, axis=1) < 0).all()  # falls with c


def test_dearer_verification_asks_for_shorter_drafts_than_theorem_8() -> None:
    slopes = formulas.SLOPES
    _, _, *columns = np.transpose(formulas.compute_verification().cells)
    gamma, best, naive = np.reshape(columns, (3, len(slopes), -1))
    assert (np.diff(gamma, axis=0) <= 0).all()
    assert gamma.max() < formulas.MAX_GAMMA
    assert slopes[0] == 0
    assert (naive[0] == best[0]).all()  # free verification is Theorem 8
    assert (best >= naive).all()
    assert (best >= 1).all()
    assert ((best > 1.02) & (naive < 1)).any()


@pytest.fixture(scope="module")
def load() -> batch_size.BatchSize:
    return batch_size.compute()


def test_best_gamma_shrinks_with_the_batch(load: batch_size.BatchSize) -> None:
    _, gammas, best, two, four, _ = zip(*load.cells, strict=True)
    assert gammas[0] > gammas[-1]
    assert list(gammas) == sorted(gammas, reverse=True)
    for fastest, *fixed in zip(best, two, four, strict=True):
        assert fastest >= max(*fixed, 1.0) - 1e-12


def test_longer_fixed_drafts_lose_at_smaller_batches(load: batch_size.BatchSize) -> None:
    last = [max(load.gaining[gamma], default=0) for gamma in batch_size.FIXED_GAMMAS]
    assert last == sorted(last, reverse=True)
    assert last[0] == load.largest > last[1] > last[2] == 0
    for gamma, batch in zip(batch_size.FIXED_GAMMAS, last, strict=True):
        for drawn, factor in zip(load["batch"], load[f"speedup_gamma_{gamma}"], strict=True):
            assert (factor > 1) == (drawn <= batch)


def test_the_next_batch_size_after_the_last_gaining_one_loses(load: batch_size.BatchSize) -> None:
    last = load.gaining[4][-1]
    gained = [float(load.load.speed_ups(batch, np.array([4]))[0]) for batch in (last, last + 1)]
    assert gained[0] > 1 >= gained[1]
    # The slow-down under load stays below the wasted operations.
    for gamma in (4, 8):
        slowdown = 1 / load[f"speedup_gamma_{gamma}"][-1]
        wasted = float(operations_factor(ALPHA, gamma, 0.25))
        assert 1.05 < slowdown < wasted


def test_the_figure_gives_the_answer_of_the_plan(load: batch_size.BatchSize) -> None:
    configs = Path(__file__).parents[2] / "docs" / "configs"
    asked = (
        f"plan --json --cost-model roofline --gpu h100 --alpha {ALPHA} --batch 1,8,32,64,128,256 "
        f"--target-config {configs}/llama-3.1-8b.json --draft-config {configs}/llama-3.2-1b.json"
    )
    for row in json.loads(CliRunner().invoke(main, asked.split()).stdout)["rows"]:
        at = load["batch"].index(row["batch"])
        assert load["best_gamma"][at] == row["optimal_gamma"]
        speed_up = pytest.approx(row["improvement_factor"], rel=1e-3)
        assert load["best_speedup"][at] == speed_up


def test_a_title_says_where_each_draft_length_ends(load: batch_size.BatchSize) -> None:
    assert batch_size.title(load) == "γ = 4 loses beyond 197 sequences; γ = 8 never gains"
    other = replace(load, gaining={4: range(1, load.largest + 1), 8: ()})
    assert batch_size.title(other) == (
        f"γ = 4 still gains with {load.largest} sequences; γ = 8 never gains"
    )
    late = replace(load, gaining={4: range(8, 81), 8: range(1, 81)})
    assert batch_size.title(late) == (
        "γ = 4 gains from 8 to 80 sequences only; γ = 8 loses beyond 80 sequences"
    )


def test_batch_sizes_that_do_not_fit_are_left_out() -> None:
    given = batch_size.default_load()
    small = replace(
        given.deployment, hardware=replace(given.deployment.hardware, memory_bytes=30e9)
    )
    load = FigureLoad(small, 2048, 0.8)
    data = batch_size.compute(load)
    last = data["batch"][-1]
    assert data.largest == last < batch_size.MAX_BATCH
    assert needed_bytes(small, context=2048, batch=last) <= small.hardware.memory_bytes
    assert needed_bytes(small, context=2048, batch=last + 1) > small.hardware.memory_bytes
    assert str(last) in FIGURES["batch-size"].draw(data).axes[1].get_xlabel()
    assert load.caption.startswith("LlamaForCausalLM (8.0B) drafted by 1.24B, on 1 × h100-sxm")


@pytest.mark.parametrize(
    ("memory_bytes", "longest", "message"),
    [
        (1e9, None, "one sequence of context 1024 must fit into the memory"),
        (80e9, 5, "the draft must reach gamma 8, got 5 at most"),
    ],
)
def test_a_deployment_that_cannot_be_drawn_is_refused(
    memory_bytes: float, longest: int | None, message: str
) -> None:
    given = batch_size.default_load().deployment
    hardware = replace(given.hardware, memory_bytes=memory_bytes)
    draft = replace(given.draft, longest=longest)
    with pytest.raises(ValueError, match=message):
        batch_size.compute(FigureLoad(replace(given, hardware=hardware, draft=draft)))


def test_the_gains_of_verification_by_rank_have_the_means_of_their_files() -> None:
    data = recorded.compute_ranks()
    assert data["batch"] == (1, 2, 4, 8, 16, 32, 64, 128, 256)
    for draft in recorded.DRAFTS:
        means = vars(results(f"adaptive/{draft}"))
        for name, (way, other) in recorded.GAINS.items():
            logs = np.log1p(recorded.gain(data, draft, name) / 100)
            assert np.exp(logs.mean()) == pytest.approx(means[f"{way}_over_{other}"])


def test_the_map_of_thresholds_agrees_with_the_plan_of_its_files() -> None:
    data = recorded.compute_confidence()
    for draft in recorded.DRAFTS:
        plan = results(f"p_min/{draft}")
        gain, factors = plan.p_min_gain, recorded.grid(data, draft)
        assert factors.size == len(plan.curve)
        best = factors[data["p_min"].index(gain.p_min), gain.gamma - 1]
        assert best == factors.max() == plan.improvement_factor
        assert recorded.change(data, draft) == pytest.approx(gain.value - 1)
        assert recorded.change(data, draft, 0.0) == 0
        # The drawing says below that the intervals include no gain.
        assert gain.low < 1 < gain.high
        assert recorded.change(data, draft, recorded.FORMER_DEFAULT) < 0
