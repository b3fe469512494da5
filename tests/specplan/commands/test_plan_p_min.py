"""`specplan plan --profile --p-min`: draft length and threshold together."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from estimator.profiles.parts import Alpha, DraftAcceptance
from estimator.profiles.profile_file import read_profile, write_profile
from estimator.traces.trace_file import traces_path, write_traces
from estimator.traces.traces import RecordedConfidence, Trace, TracePair, alpha, replayed_blocks
from simulator.acceptance.stopping import ranking
from tests.specplan.made_profiles import made_profile
from tests.specplan.plan_inputs import run, run_json
from tests.specplan.refusals import assert_refused

TOKENS, LONGEST, TEXTS = 60, 8, 5


def made_trace(seed: int, *, confident: bool = True) -> Trace:
    """Returns a greedy text whose draft is right as often as it says, and unsure once it erred."""
    generator = np.random.default_rng(seed)
    sure = generator.random(TOKENS).astype(np.float32)
    right = generator.random(TOKENS) < sure
    columns = np.repeat(sure[:, None], 3, axis=1)
    own = np.zeros((TOKENS + 1, LONGEST, 3), dtype=np.float32)
    own[-1] = 0.3
    for start in reversed(range(TOKENS)):
        after = own[start + 1, :-1] if right[start] else np.full((LONGEST - 1, 3), 0.4)
        own[start] = np.concatenate([columns[start][None], after])
    accepted = right.astype(float)
    confidence = RecordedConfidence(columns, np.arange(TOKENS + 1), own) if confident else None
    return Trace(accepted, accepted, None, TOKENS, {1.0: accepted.mean()}, confidence=confidence)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return written(tmp_path, [made_trace(seed) for seed in range(TEXTS)])


def written(folder: Path, traces: list[Trace]) -> Path:
    """Returns a profile of made traces, written with them."""
    path = folder / "p.json"
    rate = alpha(traces)
    drafting = DraftAcceptance(
        Alpha(rate), replayed_blocks(traces, LONGEST), alpha_by_lenience={0.5: rate, 1.0: rate}
    )
    made = made_profile("draft", alpha=0.5, c=0.1)
    write_profile(
        replace(made, alpha=Alpha(rate), draft_sampling="argmax", draftings={"argmax": drafting}),
        path,
    )
    pairs = {number: TracePair(trace, trace) for number, trace in enumerate(traces)}
    write_traces(traces_path(path), pairs, "key")
    return path


def test_auto_finds_the_pair_with_the_least_time_and_its_gain(profile: Path) -> None:
    found = run_json(f"--profile {profile} --p-min auto")
    factors = {
        (point["gamma"], point["p_min"]): point["improvement_factor"] for point in found["curve"]
    }
    assert len(factors) == 20 * LONGEST
    gain = found["p_min_gain"]
    assert found["p_min"] == gain["p_min"] > 0
    best = factors[gain["gamma"], gain["p_min"]]
    assert best == pytest.approx(max(factors.values()))
    fixed = max(factor for (_, p_min), factor in factors.items() if p_min == 0)
    assert gain["value"] == pytest.approx(best / fixed)
    assert gain["low"] < gain["value"] < gain["high"]
    assert gain["held_out"] <= gain["value"]
    assert found["drafted_error"] == 0


def test_threshold_0_is_the_plan_without_one(profile: Path) -> None:
    plain = run_json(f"--profile {profile} --max-gamma {LONGEST}")
    stopped = run_json(f"--profile {profile} --p-min 0")
    for key in ("optimal_gamma", "improvement_factor", "expected_tokens", "accepted_fraction"):
        assert stopped[key] == pytest.approx(plain[key], rel=1e-9), key


def test_the_table_names_the_rule_and_the_gain(profile: Path) -> None:
    text = run(f"--profile {profile} --p-min 0.3,0.5").stdout
    assert "llama.cpp, since pull request 22506" in text
    assert "over the best fixed gamma 2" in " ".join(text.split())
    kept = run(f"--profile {profile} --p-min 0.3 --stopping-rule llama.cpp-older").stdout
    assert "the token that fails is verified" in " ".join(kept.split())


@pytest.mark.parametrize(
    ("server", "line"),
    [
        ("llama.cpp", "--spec-draft-p-min {}"),
        ("transformers", "assistant_confidence_threshold = {}"),
    ],
)
def test_the_export_has_the_threshold(profile: Path, server: str, line: str) -> None:
    found = run_json(f"--profile {profile} --p-min 0.1 --draft-sampling argmax --export {server}")
    assert found["p_min_gain"]["low"] > 1
    assert found["p_min"] == found["advised_p_min"] == 0.1
    assert line.format(0.1) in found["export"]
    assert found["stopping_rule"]["name"] == server
    keys = ["name", "confidence", "keeps", "builds", "source", "product", "option", "calibrated"]
    assert list(found["stopping_rule"]) == keys


def test_a_threshold_that_loses_on_other_texts_is_not_exported(profile: Path) -> None:
    asked = f"--profile {profile} --p-min 0.4"
    found = run_json(f"{asked} --export llama.cpp")
    gain = found["p_min_gain"]
    assert gain["held_out"] < 1
    assert (found["p_min"], found["advised_p_min"]) == (0.4, 0)
    plain = run_json(f"--profile {profile} --export llama.cpp")
    comment = found["export"].removesuffix(plain["export"])
    assert comment.startswith("# p_min 0: with p_min 0.4 and K = ")
    assert "-1.7 % on texts that did not choose it" in comment
    assert found["advised_gamma"] == plain["advised_gamma"]
    text = " ".join(run(asked).stdout.split())
    assert f"So keep gamma {plain['advised_gamma']} without a threshold (p_min 0)." in text


@pytest.mark.parametrize(("texts", "p_min"), [(1, "auto"), (3, "0.2")])
def test_a_threshold_whose_gain_is_not_proven_is_not_exported(
    tmp_path: Path, texts: int, p_min: str
) -> None:
    profile = written(tmp_path, [made_trace(seed) for seed in range(texts)])
    found = run_json(f"--profile {profile} --p-min {p_min} --export llama.cpp")
    gain = found["p_min_gain"]
    assert gain["value"] > 1
    assert gain["low"] is None or (gain["low"] < 1 < gain["held_out"])
    assert found["advised_p_min"] == 0
    assert "--spec-draft-p-min 0" in found["export"].splitlines()[-1]
    printed = "one text gives no interval" if texts == 1 else "(90 % interval -"
    assert printed in found["export"]


def test_the_table_is_of_drafts_as_the_rules_server_makes_them(profile: Path) -> None:
    """llama.cpp drafts by argmax, so a profile measured with sampled drafts is read so."""
    made = read_profile(profile)
    argmax = made.draftings["argmax"]
    both = {"argmax": argmax, "sampled": replace(argmax, cut_short=argmax.cut_short + 1e-3)}
    write_profile(replace(made, draft_sampling="sampled", draftings=both), profile)
    table, exported = (
        run_json(f"--profile {profile} --p-min auto{more}") for more in ("", " --export llama.cpp")
    )
    assert table["draft_sampling"] == exported["draft_sampling"] == "argmax"
    assert table["advised_p_min"] == exported["advised_p_min"]
    text = run(f"--profile {profile} --p-min auto").stdout
    assert "argmax drafts: a draft ends" in " ".join(text.split())


def test_adaptive_verification_lies_between_fixed_lengths_and_the_oracle(profile: Path) -> None:
    options = f"--profile {profile} --target-ms 20 --draft-ms 1 --verify-ms 4=30 --verify-ms 8=80"
    found = run_json(f"{options} --verification adaptive")
    [row] = found["rows"]
    fixed = run_json(f"{options} --max-gamma {LONGEST}")
    assert row["batch"] == 1
    assert row["k_by_batch"]["gamma"] == fixed["optimal_gamma"]
    assert row["k_by_batch"]["speed_up"] == pytest.approx(fixed["improvement_factor"], rel=1e-9)
    assert row["walk"]["speed_up"] > row["k_by_batch"]["speed_up"]
    assert row["oracle"]["speed_up"] > row["walk"]["speed_up"]
    assert 0 < row["oracle_gain_reached"] < 1
    assert found["rank_over_k_by_batch"] > 1
    text = run(f"{options} --verification adaptive").stdout
    assert "Verification by rank: +" in text
    assert "Over K by batch it pays from batch 1 on: +" in " ".join(text.split())
    assert "enable_adaptive_verification" in text


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plays fewer tokens than usual at each batch size, and fewer sequences at once."""
    monkeypatch.setattr(ranking, "PLAYED", ranking.PLAYED // 50)
    monkeypatch.setattr(ranking, "TOGETHER", ranking.TOGETHER // 4)


@pytest.mark.usefixtures("short")
def test_adaptive_verification_by_batch_has_one_fixed_length_for_all(profile: Path) -> None:
    models = "docs/configs/llama-3.3-70b.json --draft-config docs/configs/llama-3.2-1b.json"
    deployed = f"--profile {profile} --target-config {models} --gpu h100 --tp 4"
    found = run_json(f"{deployed} --batch 8:200:4 --verification adaptive")
    assert [row["batch"] for row in found["rows"]][::11] == [8, 200]
    assert len({row["one_k"]["gamma"] for row in found["rows"]}) == 1
    assert all(row["one_k"]["speed_up"] <= row["k_by_batch"]["speed_up"] for row in found["rows"])
    for other, start in found["pays_from"].items():
        gains = {row["batch"]: row[f"gain_over_{other}"] for row in found["rows"]}
        for row in found["rows"]:
            best = max(row[way]["speed_up"] for way in ("walk", "previous_step"))
            middle, low, high = gains[row["batch"]]
            assert middle == pytest.approx(best / row[other]["speed_up"])
            assert low <= middle <= high
        surely = [batch for batch, (_, low, _) in gains.items() if low > 1]
        if start is None:
            assert 200 not in surely
        else:
            assert {batch for batch in gains if batch >= start} <= set(surely)
            assert not any(batch < start and batch in surely[-1:] for batch in gains)
    crossing = run_json(f"{deployed} --batch 64 --graph-tokens 100 --verification adaptive")
    assert crossing["rows"][0]["k_by_batch"]["gamma"] == 0
    assert 0 < crossing["rows"][0]["walk"]["verified"] <= 36 / 64


def test_traffic_serves_with_adaptive_verification(profile: Path) -> None:
    times = "--target-ms 20 --draft-ms 1 --verify-ms 4=30 --verify-ms 8=80 --prompt-ms 20"
    load = f"--profile {profile} {times} --prompt-tokens 50 --output-tokens 60 --alpha-spread 0"
    adaptive = "--verification adaptive"
    burst = run_json(f"{load} --burst 1 {adaptive}", "traffic")["rows"]
    assert [row["policy"] for row in burst] == ["none", "fixed", "schedule", "adaptive"]
    played = run_json(f"--profile {profile} {times[:-15]} {adaptive}")["rows"][0]
    gain = played["previous_step"]["speed_up"] / played["k_by_batch"]["speed_up"]
    assert abs(gain - 1) > 0.03
    simulated = run_json(f"{load} --rate 0.1 --simulate --requests 500 {adaptive}", "traffic")
    tpot = {row["policy"]: row["tpot_ms"] for row in simulated["simulated"]}
    # 500 outputs of 59 tokens, and a played batch, whose standard error is below 1 %.
    assert tpot["fixed"] / tpot["adaptive"] == pytest.approx(gain, rel=0.025)
    assert_refused(
        run(f"{load} --rate 0.1 {adaptive}", "traffic"),
        "--verification adaptive needs --simulate or --burst",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--p-min 1.5", "p_min must lie in [0, 1], got 1.5"),
        ("--p-min nan", "p_min must lie in [0, 1], got nan"),
        ("--p-min x", "--p-min must be auto or numbers in [0, 1], such as 0.3,0.5, got 'x'"),
        ("--stopping-rule product", "--stopping-rule needs --p-min"),
        (
            "--p-min 0 --stopping-rule x",
            "--stopping-rule must be one of llama.cpp, llama.cpp-older, transformers, product, "
            "calibrated, got x",
        ),
        ("--p-min 0.5 --lenience 0.5", "--p-min needs drafts that are judged token by token"),
        ("--p-min 0.5 --export vllm", "--p-min: vllm has no threshold that ends a draft"),
        (
            "--p-min 0.5 --verification adaptive",
            "--verification adaptive cannot be combined with --p-min",
        ),
        (
            "--export vllm --verification adaptive",
            "--verification adaptive cannot be combined with --export",
        ),
    ],
)
def test_questions_that_cannot_be_planned_are_refused(
    profile: Path, options: str, message: str
) -> None:
    assert_refused(run(f"--profile {profile} {options}"), message)


def test_adaptive_verification_needs_a_path_from_every_block_start(tmp_path: Path) -> None:
    trace = made_trace(3)
    assert trace.confidence is not None
    along, starts, own = trace.confidence
    some = replace(trace, confidence=RecordedConfidence(along, starts[::2], own[::2]))
    assert_refused(
        run(f"--profile {written(tmp_path, [some, some])} --verification adaptive"),
        "--verification adaptive needs the draft's own path from every block start, got paths from",
    )


def test_profiles_without_confidence_are_refused(tmp_path: Path, profile: Path) -> None:
    """One without traces, with traces of an older version, with another's, with impossible ones."""
    traces_path(profile).unlink()
    assert_refused(
        run(f"--profile {profile} --p-min auto"),
        "--p-min needs the traces that 'specplan measure' writes next to a profile, got no "
        "p.json.traces.npz",
    )
    older = written(tmp_path, [made_trace(seed, confident=False) for seed in range(TEXTS)])
    assert_refused(
        run(f"--profile {older} --p-min auto"),
        "a stopping rule needs traces with the draft's confidence, got none: measure again, with "
        "a draft that is a model, a head or n-grams",
    )
    trace = made_trace(9)
    pairs = {0: TracePair(trace, trace)}
    write_traces(traces_path(older), pairs, "key")
    assert_refused(
        run(f"--profile {older} --p-min auto"), "must be of the profile's own measurement"
    )
    assert trace.confidence is not None
    trace.confidence.along[3] = 1.5
    write_traces(traces_path(older), pairs, "key")
    assert_refused(run(f"--profile {older} --p-min auto"), "got another or a damaged one")
