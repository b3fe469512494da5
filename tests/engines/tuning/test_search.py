"""A search ends near the best gamma in few runs, goes on from its file, and believes no server."""

from dataclasses import replace as replaced
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from engines.kind import engine_kinds
from engines.tuning.advised import Advised
from engines.tuning.bench import Bench
from engines.tuning.outlook import Outlook
from engines.tuning.search import Search
from engines.tuning.tuned import Tuned, TunedRun, read_tuned
from estimator.settings import PromptSettings
from estimator.writing import write_json
from simulator.cost.fitted.runs import LoadPoint, Run
from specplan.reports.tuning import tuned_text
from tests.engines.made_engine import KIND, PROMPTS, MadeEngine, made_tuning, searched

ENGINES = {
    "cheap drafts": MadeEngine(draft=0.02, block=0.05, accepted=0.9),
    "usual": MadeEngine(),
    "dear drafts": MadeEngine(draft=0.3, block=0.1, accepted=0.7),
    "a loss": MadeEngine(draft=0.5, block=0.8, accepted=0.5),
}


# Most runs with drafts that a search makes: six where K = 5 to 8 are within 1.5 % of each other,
# five where 15 may be 0.2 % faster than 16.
MOST_RUNS = {"cheap drafts": 5, "usual": 6, "dear drafts": 3, "a loss": 1}


def gammas(tuned: Tuned) -> list[int]:
    return [row.gamma for row in tuned.rows]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("together", [True, False])
def test_a_search_loses_at_most_two_per_cent_in_one_to_six_runs(name: str, together: bool) -> None:
    engine = ENGINES[name]
    found = searched(engine, made_tuning(), together=together)
    [advised] = found.advised
    assert engine.token_seconds(advised.gamma) <= 1.02 * engine.token_seconds(engine.best)
    assert len([gamma for gamma in gammas(found) if gamma > 0]) <= MOST_RUNS[name]
    assert engine.up == 0
    assert found.next_gamma is None


def test_the_first_run_is_of_a_draft_even_where_a_loss_is_advised() -> None:
    found = searched(ENGINES["a loss"], made_tuning())
    assert gammas(found)[0] == 0
    assert gammas(found)[1] > 0
    assert found.advised[0].gamma == 0


@pytest.mark.parametrize("name", ["cheap drafts", "usual", "dear drafts"])
def test_a_search_says_why_no_further_gamma_was_run(name: str) -> None:
    engine = ENGINES[name]
    tuned = searched(engine, made_tuning(worth=2.0))
    [advised] = tuned.advised
    beside = {advised.gamma - 1, advised.gamma + 1} - {0, 17}  # at most 16 are tried
    assert {other.gamma for other in advised.not_run} == beside - {*gammas(tuned)}
    for other in advised.not_run:
        true = engine.token_seconds(0) / engine.token_seconds(other.gamma)
        assert other.improvement_factor == pytest.approx(true, rel=0.05)
        assert 0 < other.faster_probability < 1
    said, reason = " ".join(tuned_text(tuned, dry_run=False).split()), "."
    if name == "dear drafts":
        assert advised.declined is None  # no other is likely enough to be faster
    else:
        assert advised.declined is not None
        assert advised.declined.gamma not in gammas(tuned)
        assert advised.declined.gain_percent < advised.declined.worth_percent == 2.0
        reason = f": the next one, of K = {advised.declined.gamma}, would gain"
    assert f"No further run is worth its time{reason}" in said
    for other in advised.not_run:
        assert f"K = {other.gamma} was not run: it is expected to give" in said


def test_a_search_that_is_not_over_declines_no_run() -> None:
    tuned = searched(ENGINES["cheap drafts"], made_tuning(max_runs=1))
    assert tuned.next_gamma is not None
    assert tuned.advised[0].declined is None


def test_a_higher_worth_ends_the_search_earlier_and_no_more_runs_are_made_than_allowed() -> None:
    runs = [len(searched(ENGINES["dear drafts"], made_tuning(worth=w)).rows) for w in (0.1, 50)]
    assert runs[1] < runs[0]
    assert len(searched(ENGINES["cheap drafts"], made_tuning(max_runs=1)).rows) == 2


@pytest.mark.parametrize(
    ("speeds", "following"),
    [
        ((1.0, 1.3, 1.45, 1.55), 6),
        ((1.0, 1.31, 1.39, 1.37), None),
        ((1.0, 0.7, 0.8), None),
    ],
)
def test_where_the_longest_run_is_fastest_a_longer_one_is_run(
    speeds: tuple[float, ...], following: int | None
) -> None:
    load = LoadPoint(100)
    runs = [
        Run(load, 1 / speed, gamma, length, 0.01)
        for gamma, (speed, length) in enumerate(zip(speeds, (1.0, 1.6, 2.0, 2.3), strict=False))
    ]
    # No forecast is worth another run.
    assert Outlook(runs, load, longest=6, worth=0.05).next_gamma == following
    assert Outlook(runs, load, longest=len(runs) - 1, worth=0.05).next_gamma is None


def test_a_disturbed_run_that_contradicts_another_ends_no_search() -> None:
    """A machine that is slow for a while makes a longer block look faster than a shorter one."""
    load = LoadPoint(100)
    runs = [
        Run(load, milliseconds / 1e3, gamma, length, 0.02)
        for gamma, milliseconds, length in ((0, 7.1, 1.0), (5, 8.5, 2.9), (6, 5.5, 3.0))
    ]
    assert Outlook(runs, load, longest=8, worth=0.002).advice.named == 6


def test_each_concurrency_is_searched_with_the_acceptance_of_all() -> None:
    numbers = []
    for name, temperature in product(ENGINES, (0.0, 1.0)):
        engine = replaced(ENGINES[name], served=[])
        found = searched(engine, made_tuning(concurrencies=(1, 4), temperature=temperature))
        assert [each.concurrency for each in found.advised] == [1, 4]
        assert engine.served.count(0) == 1
        numbers.append([len(found.at(each)) for each in (1, 4)])
    first, second = np.sum(numbers, axis=0)
    assert 2 * len(numbers) <= second < first


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_run_speeds_up_by_the_ratio_of_its_times_though_drafts_pass_the_end_of_texts(
    temperature: float,
) -> None:
    """Texts of 32 tokens: the server counts 4 to 7 % more tokens a step than the texts have."""
    how = {"text": PromptSettings(num_prompts=len(PROMPTS), max_new_tokens=32)}
    engine = MadeEngine(past_end=True)
    found = searched(engine, made_tuning(temperature=temperature, **how))
    [advised] = found.advised
    plain, row = (
        next(row for row in found.rows if row.gamma == gamma) for gamma in (0, advised.gamma)
    )
    assert 1 + sum(row.rates) > 1.03 * row.block_efficiency
    ratio = plain.ms_per_token / row.ms_per_token
    assert advised.improvement_factor == pytest.approx(ratio, rel=0.01)
    [run] = [run for run in found.runs() if run.gamma == advised.gamma]
    assert 1 + sum(run.rates) == pytest.approx(run.length)
    # Texts of temperature 0 are the same in all runs; others are easy or hard by chance.
    assert (0 < run.length_error < run.error) == (temperature > 0)


def test_runs_that_conflict_are_named_and_the_impossible_one_is_not_advised() -> None:
    def row(gamma: int, milliseconds: float, length: float) -> TunedRun:
        turn = (milliseconds * length / 10, 100, round(100 * length))
        turns = tuple((gamma, number, *turn) for number in range(4))
        return TunedRun(concurrency=1, gamma=gamma, turns=turns)

    with Bench(MadeEngine().serve, KIND, PROMPTS, made_tuning()) as bench:
        search = Search(bench, {"engine": "made"}, "D", lambda *_: None)
        for each in ((0, 10.0, 1.0), (2, 8.0, 2.0), (3, 5.0, 1.8)):
            search.add(row(*each))
        found = search.tuned
        assert [text.split(":")[0] for text in found.conflicts] == [
            "The run at K = 3 is impossible",
            "Tokens per call fall from 2.00 at K = 2 to 1.80 at K = 3",
            "A block of K = 3 takes 9 ms, and one of K = 2 16 ms",
        ]
        assert found.conflicts[0] in " ".join(tuned_text(found, dry_run=False).split())
        assert search.outlook(1).best_run == 2
        assert found.advised[0].gamma != 3


@pytest.mark.parametrize("together", [True, False])
def test_a_machine_that_slows_down_changes_no_advice(together: bool) -> None:
    calm = searched(MadeEngine(), made_tuning(), together=together)
    slowing = MadeEngine(speed=lambda texts: 1.0 + texts / 300)
    found = searched(slowing, made_tuning(), together=together)
    took = [slowing.token_seconds(each.advised[0].gamma) for each in (calm, found)]
    assert took[1] == pytest.approx(took[0], rel=0.02)
    ratios = [
        {row.gamma: row.ms_per_token / each.rows[0].ms_per_token for row in each.rows}
        for each in (calm, found)
    ]
    for gamma in ratios[0].keys() & ratios[1].keys():
        # Servers together take turns with the fastest K so far, not with K = 0, which ran before.
        limit = 0.07 if together else 0.03
        assert ratios[1][gamma] == pytest.approx(ratios[0][gamma], rel=limit)
    assert any("drift" in note for note in found.notes) == (not together)


def turns_of(tuned: Tuned, gamma: int) -> int:
    return max(len(row.turns) for row in tuned.rows if row.gamma == gamma)


@pytest.mark.parametrize(
    ("draft", "noise", "passes"),
    [(0.1, 0.0, 1), (0.1, 0.1, 3), (1.0, 0.05, 1)],
    ids=["calm", "loud", "loud, and clearly slower"],
)
def test_a_run_ends_once_it_is_exact_and_a_loud_machine_takes_every_repeat(
    draft: float, noise: float, passes: int
) -> None:
    speeds = np.random.default_rng(0).lognormal(0.0, noise, 100)
    engine = MadeEngine(draft=draft, speed=lambda texts: speeds[texts])
    assert turns_of(searched(engine, made_tuning(max_runs=1)), 3) == passes * len(PROMPTS)


def test_servers_that_run_in_turn_start_once_for_all_loads() -> None:
    engine = MadeEngine()
    found = searched(engine, made_tuning(concurrencies=(1, 4)), together=False)
    starts = [gamma for gamma in engine.served if gamma > 0]
    assert len(starts) == len(set(starts))
    assert engine.served.count(0) == 2
    assert {row.concurrency for row in found.rows if row.gamma == starts[0]} == {1, 4}


def test_a_gamma_that_was_ignored_is_named_and_not_believed() -> None:
    engine = MadeEngine(draft=0.02, block=0.05, accepted=0.9, longest=2)
    found = searched(engine, made_tuning())
    ignored = [row for row in found.rows if row.note]
    assert all(row.gamma > 2 and not row.measured for row in ignored)
    assert "was not obeyed: the server drafts 2.0 tokens a block" in ignored[0].note
    assert found.advised[0].gamma == 2
    assert {run.gamma for run in found.runs()} <= {0, 1, 2}


def test_a_gamma_that_the_engine_refuses_is_named_and_smaller_ones_are_run() -> None:
    found = searched(MadeEngine(refused=2), made_tuning())
    assert "gamma 3 was refused: the head was trained for 1 tokens" in found.rows[-3].note + (
        found.rows[0].note
    )
    assert found.advised[0].gamma == 1


def test_an_engine_that_refuses_every_gamma_ends_the_search() -> None:
    with pytest.raises(ValueError, match="gamma 1 was refused: the head was trained for 0 tokens"):
        searched(MadeEngine(refused=1), made_tuning())


def test_a_killed_search_leaves_a_whole_file_and_no_server_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    engine = MadeEngine(draft=0.02, block=0.05, accepted=0.9)
    whole = searched(engine, made_tuning())

    def interrupt(_now: object, row: object) -> None:
        if isinstance(row, TunedRun) and row.gamma > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        searched(engine, made_tuning(output=path), interrupt)
    kept = read_tuned(path)
    assert gammas(kept) == gammas(whole)[:2]
    assert engine.up == 0
    found = searched(engine, made_tuning(output=path))
    assert gammas(found)[:2] == gammas(kept)
    # The fastest γ so far takes further turns with the next one.
    for after, before in zip(found.rows, kept.rows, strict=False):
        assert after.turns[: len(before.turns)] == before.turns
    assert found.advised[0].gamma == whole.advised[0].gamma
    assert read_tuned(path) == found
    texts = engine.texts
    assert searched(engine, made_tuning(output=path)) == found
    assert engine.texts == texts


@pytest.mark.parametrize(
    ("engine", "settings", "message"),
    [
        (MadeEngine(refused=1), {}, "gamma 1 was refused: the head was trained for 0"),
        (MadeEngine(), {"concurrencies": (5,)}, "at most the number of prompts, 4 here, got 5"),
        (MadeEngine(), {"temperature": 1.0}, r"same setting to go on with, got temperature 0\.0"),
    ],
    ids=["every draft refused", "fewer prompts than requests", "a file of another setting"],
)
def test_a_search_refuses(
    engine: MadeEngine, settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "tuned.json"
    if engine.refused > 1:
        searched(MadeEngine(), made_tuning(output=path))
    with pytest.raises(ValueError, match=message):
        searched(engine, made_tuning(output=path, **settings))


def test_a_file_with_turns_of_a_gamma_in_the_run_of_another_is_not_gone_on_with(
    tmp_path: Path,
) -> None:
    path = tmp_path / "tuned.json"
    found = searched(MadeEngine(), made_tuning(output=path))
    first, second, *rest = found.rows
    write_json(replace(found, rows=(first, replace(second, turns=first.turns), *rest)), path)
    with pytest.raises(ValueError, match="must have the turns of a gamma in its own run"):
        searched(MadeEngine(), made_tuning(output=path))


@pytest.mark.parametrize("content", ['{"rows": 3}', "[]", '{"setup": {}, "context": 1}'])
def test_files_of_no_tuning_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"must be a file of specplan tune .*, got"):
        read_tuned(path)
    profile = Path(__file__).parents[3] / "docs" / "examples" / "embedded.json"
    with pytest.raises(ValueError, match=r"embedded.json must be .* got a profile: use `pro"):
        read_tuned(profile)


def test_a_dry_run_names_the_first_runs_and_starts_nothing() -> None:
    engine = MadeEngine()
    with Bench(engine.serve, KIND, PROMPTS, made_tuning(concurrencies=(1, 4))) as bench:
        found = Search(bench, {}, "D", lambda *_: None).expected()
    assert gammas(found)[::2] == [0, 0]
    assert all(gamma > 0 for gamma in gammas(found)[1::2])
    assert not any(row.measured for row in found.rows)
    assert engine.served == []


def test_expectations_are_made_before_the_run_that_they_are_of() -> None:
    found = searched(MadeEngine(), made_tuning())
    first, second = found.rows[:2]
    assert first.expected_ms_per_token is None
    assert second.expected_ms_per_token_low < second.expected_ms_per_token
    assert second.expected_ms_per_token < second.expected_ms_per_token_high
    others = replace(found, rows=found.rows[:1])
    assert second.expected_ms_per_token != pytest.approx(second.ms_per_token, rel=1e-6)
    assert others.rows[0].measured


def test_a_threshold_that_saves_drafts_is_advised_with_its_gamma(tmp_path: Path) -> None:
    engine = MadeEngine(draft=0.2, block=0.1, accepted=0.8)
    how = made_tuning(p_mins=(0.01, 0.2), output=tmp_path / "tuned.json")
    found, plain = searched(engine, how), searched(engine, made_tuning())
    [advised], [before] = found.advised, plain.advised
    # A longer draft costs nothing more where it ends in time.
    assert (advised.gamma, advised.p_min) == (2 * before.gamma, 0.01)
    assert advised.ms_per_token < before.ms_per_token
    assert advised.improvement_factor > before.improvement_factor_high
    stopped = [row for row in found.rows if row.p_min > 0]
    assert [(row.gamma, row.p_min) for row in stopped] == [
        (gamma, p_min) for gamma in (before.gamma, 2 * before.gamma) for p_min in (0.01, 0.2)
    ]
    assert all(row.measured and row.error_percent < 1.5 for row in stopped)
    # No forecast, and no count of fixed drafts, comes from them.
    assert [run.gamma for run in found.runs()] == [run.gamma for run in plain.runs()]
    texts = engine.texts
    assert searched(engine, how) == read_tuned(tmp_path / "tuned.json") == found
    assert engine.texts == texts


def test_a_threshold_that_costs_more_than_it_saves_is_not_advised() -> None:
    [advised] = searched(ENGINES["cheap drafts"], made_tuning(p_mins=(0.5,))).advised
    assert (advised.p_min, advised.gamma > 0) == (0.0, True)
    # Where no gamma gains, none is tried.
    found = searched(ENGINES["a loss"], made_tuning(p_mins=(0.3,)))
    assert not any(row.p_min for row in found.rows)


def test_a_threshold_that_is_ignored_is_named_and_not_advised() -> None:
    found = searched(MadeEngine(stops=False), made_tuning(p_mins=(0.3,)))
    stopped = [row for row in found.rows if row.p_min > 0]
    assert stopped
    assert all("p_min was ignored: every draft has" in row.note for row in stopped)
    assert not any(row.measured for row in stopped)
    assert found.advised[0].p_min == 0


def test_flags_say_which_gamma_is_for_which_load() -> None:
    ends = {f"improvement_factor{end}": 1.0 for end in ("", "_low", "_high")}

    def flags(name: str, gammas: dict[int, int], p_min: float = 0.0) -> str:
        kind = KIND if name == "made" else engine_kinds()[name]
        known = {"gain_probability": None, "ms_per_token": None, "p_min": p_min, **ends}
        advised = [Advised(concurrency=at, gamma=gamma, **known) for at, gamma in gammas.items()]
        return Bench(MadeEngine().serve, kind, PROMPTS, made_tuning()).flags(advised, "D")

    assert flags("llama.cpp", {1: 4}).endswith("--spec-draft-n-max 4 --spec-draft-p-min 0")
    assert flags("llama.cpp", {1: 4}, 0.3).endswith("--spec-draft-n-max 4 --spec-draft-p-min 0.3")
    assert flags("llama.cpp", {1: 4, 8: 0}).splitlines()[-2:] == [
        "# 8 at once:",
        "# gamma is 0: run the target without a draft",
    ]
    assert "[[1, 1, 4], [2, 8, 1]]" in flags("vllm", {1: 4, 8: 1})
    assert flags("made", {1: 4}) == ""
