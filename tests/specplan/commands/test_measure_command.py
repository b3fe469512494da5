"""`specplan measure` on a tiny pair: the profile, its keys, resumption, other drafters."""

import json
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import estimator.traces.measured_traces
from estimator.profiles.parts import DraftAcceptance
from estimator.profiles.profile_file import profile_json, read_profile
from reference.speculative import plain_session
from tests.specplan.plan_inputs import PROFILE
from tests.specplan.programs import Run, RunJson

SETUP = {
    "target", "draft", "revision", "dtype", "sampling", "draft_temperature", "device",
    "threads", "python", "platform", "libraries", "prompts_hash", "max_new_tokens",
    "max_gamma", "seed", "date", "engine", "engine_version", "flags",
    "command",
}  # fmt: skip


@pytest.fixture
def measure(small: list[str]) -> list[str]:
    return ["measure", *small, "--max-gamma", "2", "--repeats", "1"]


@pytest.fixture
def profile_of(run_json: RunJson, measure: list[str]) -> RunJson:
    """Returns a function that measures the tiny pair with further options, and gives its profile.

    Options replace words of the command: `draft=random` takes another draft.
    """

    def profile(*options: str) -> Any:
        changed = dict(option.split("=") for option in options if "=" in option)
        words = [changed.get(word, word) for word in measure]
        return run_json(*words, *(option for option in options if "=" not in option))

    return profile


def test_the_profile_has_every_key(profile_of: RunJson) -> None:
    profile = profile_of()
    assert set(profile) == set(profile_json(PROFILE))
    assert set(profile["draftings"]["sampled"]) == {field.name for field in fields(DraftAcceptance)}
    estimated = {"value", "low", "high", "confidence", "tokens", "prompts", "spread"}
    assert set(profile["alpha"]) == estimated
    assert set(profile["c"]) == {"value", "low", "high"}
    assert set(profile["setup"]) == SETUP
    assert profile["setup"]["command"].startswith("specplan measure --target ")
    assert set(profile["improvement_factor"]) == {"1", "2"}
    assert profile["alpha"]["low"] <= profile["alpha"]["value"] <= profile["alpha"]["high"]
    assert 0 < profile["alpha"]["value"] < 1
    assert profile["c_hat"] == 1
    assert profile["setup"]["dtype"] == "float32"
    assert profile["setup"]["revision"] == {"target": None, "draft": None}
    assert profile["setup"]["sampling"] == {
        "temperature": 1.0, "top_k": None, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0
    }  # fmt: skip


def test_a_seed_gives_one_alpha_and_another_seed_another(profile_of: RunJson) -> None:
    first, again, other = profile_of(), profile_of(), profile_of("--seed", "1")
    for key in ("alpha", "alpha_by_position_in_text", "draftings"):
        assert first[key] == again[key] != other[key]
    # Texts written at once are those written one by one.
    assert profile_of("--batch-size", "2")["alpha"] == first["alpha"]


def test_sampling_settings_reach_the_models(profile_of: RunJson) -> None:
    """A target that can say one thing only is met by a draft that can say one thing only."""

    def alpha(*setting: str) -> float:
        return profile_of("--num-prompts", "1", "--max-gamma", "1", *setting)["alpha"]["value"]

    assert alpha("--top-k", "1") == alpha("--temperature", "0")
    plain = alpha()
    for setting in (("--top-p", "0.5"), ("--min-p", "0.5"), ("--repetition-penalty", "2")):
        assert alpha(*setting) != plain


def test_a_draft_by_argmax_is_measured_as_such(profile_of: RunJson, tmp_path: Path) -> None:
    """The texts are the target's at temperature 1 either way, and both ways are in the file."""
    sampled = profile_of("-o", str(tmp_path / "a.v1"))
    argmax = profile_of("--draft-temperature", "0", "-o", str(tmp_path / "a.v2"))
    for profile, way, temperature in ((sampled, "sampled", 1.0), (argmax, "argmax", 0.0)):
        assert (profile["draft_sampling"], profile["setup"]["draft_temperature"]) == (
            way, temperature,
        )  # fmt: skip
        assert profile["alpha"] == profile["draftings"][way]["alpha"]
    assert sampled["draftings"] == argmax["draftings"]
    assert argmax["alpha"]["value"] < sampled["alpha"]["value"]
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "a.v1", "a.v1.traces.npz", "a.v2", "a.v2.traces.npz"
    ]  # fmt: skip


def test_a_strangers_file_is_never_overwritten(
    run: Run, measure: list[str], tmp_path: Path
) -> None:
    (tmp_path / "p.npz").write_bytes(b"another's")
    assert run(*measure, "-o", str(tmp_path / "p.json")).exit_code == 0
    assert (tmp_path / "p.npz").read_bytes() == b"another's"
    for name in ("q.json.traces.npz", "q.json.traces.npz.part"):
        taken = tmp_path / name
        taken.write_bytes(b"another's")
        refused = run(*measure, "-o", str(tmp_path / "q.json"))
        assert refused.exit_code == 2
        assert refused.stdout == ""
        assert refused.stderr.startswith(f"Error: traces {taken} must be")
        assert refused.stderr.count("\n") == 1
        assert taken.read_bytes() == b"another's"
        assert not (tmp_path / "q.json").exists()
        taken.unlink()


def test_damaged_traces_are_refused_before_a_model_is_read(
    run: Run, measure: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.json"
    assert run(*measure, "-o", str(path)).exit_code == 0
    traces = tmp_path / "p.json.traces.npz"
    content = bytearray(traces.read_bytes())
    content[len(content) // 2] ^= 1
    traces.write_bytes(content)
    monkeypatch.setattr(
        "estimator.profiles.measure.load", lambda *_: pytest.fail("a model was read")
    )
    refused = run(*measure, "-o", str(path))
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "got another or a damaged one" in refused.stderr


def test_the_table_has_the_measurements_and_the_advice(
    run: Run, measure: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    result = run(*measure, "-o", str(path))
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "target target, draft draft, cpu, float32" in result.stdout
    assert "times the speed without speculation" in result.stdout or "Do not" in result.stdout
    assert f"Wrote {path}; plan with it: specplan plan --profile {path}" in result.stdout
    profile = read_profile(path)
    assert f"alpha   {profile.alpha.value:.4f}" in result.stdout
    assert sorted(file.name for file in tmp_path.iterdir()) == ["p.json", "p.json.traces.npz"]


def test_a_measured_profile_plans(run: Run, measure: list[str], tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    profile = json.loads(run(*measure, "-o", str(path), "--json").stdout)
    result = run("plan", "--profile", str(path), "--max-gamma", "2", "--json")
    assert result.exit_code == 0, result.output
    plan = json.loads(result.stdout)
    assert plan["alpha"] == profile["alpha"]["value"]
    assert plan["c"] == pytest.approx(profile["c"]["value"])
    assert plan["curve"][1]["improvement_factor"] == pytest.approx(
        profile["improvement_factor"]["2"]["replay"]
    )
    lenient = run("plan", "--profile", str(path), "--lenience", "0.5", "--json")
    assert json.loads(lenient.stdout)["alpha"] == pytest.approx(
        profile["draftings"]["sampled"]["alpha_by_lenience"]["0.5"]
    )


def test_gains_are_shown_by_category_and_by_context(
    run: Run, run_json: RunJson, measure: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "p.jsonl"
    records = [
        {"text": "def f():", "category": "code"},
        {"text": "a b"},
        {"text": "class A:" + "\n    pass" * 8, "category": "code"},
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    arguments = [str(path) if word == "prompts.txt" else word for word in measure]
    arguments += ["--num-prompts", "3"]
    profile = run_json(*arguments)
    assert list(profile["by_category"]) == ["code"]
    code = profile["by_category"]["code"]
    assert code["alpha"]["prompts"] == 2
    assert code["alpha"]["tokens"] < profile["alpha"]["tokens"]
    for number in (code["alpha"], code["tokens_per_call"]["2"], code["improvement_factor"]["2"]):
        assert number["low"] < number["value"] < number["high"]
    assert set(code["tokens_per_call"]) == set(profile["improvement_factor"])
    timed, drafting = max(map(int, code["tokens_per_call"])), profile["draft_sampling"]
    everywhere = profile["draftings"][drafting]["accepted_by_position"]
    assert len(code["accepted_by_position"]) == len(everywhere) == timed
    octaves = profile["by_context"]
    assert len(octaves) > 1
    assert sum(octave["alpha"]["prompts"] for octave in octaves.values()) == 3
    table = run(*arguments).stdout
    for words in ("by category:", "by prompt tokens:", "of a block", *octaves):
        assert words in table
    assert all(len(line) <= 80 for line in table.splitlines())


def test_ctrl_c_keeps_finished_traces_and_the_next_run_goes_on_from_them(
    run: Run, measure: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.json"
    decoded = []
    decode = plain_session

    def interrupted(*arguments: Any, **settings: Any) -> Any:
        decoded.append(1)
        if len(decoded) == 2:
            raise KeyboardInterrupt
        return decode(*arguments, **settings)

    monkeypatch.setattr(estimator.traces.measured_traces, "plain_session", interrupted)
    stopped = run(*measure, "-o", str(path))
    assert stopped.exit_code == 130
    assert stopped.stdout == ""
    assert " ".join(stopped.stderr.split()) == (
        f"Saved with {path}: the traces of 1 of 2 prompts, no times. The same command goes "
        "on from there. Interrupted."
    )
    assert [file.name for file in tmp_path.iterdir()] == ["p.json.traces.npz.part"]
    resumed = run(*measure, "-o", str(path), "--json")
    assert resumed.exit_code == 0, resumed.output
    assert len(decoded) == 3  # the second prompt, once more
    whole = run(*measure, "--json")
    assert json.loads(resumed.stdout)["alpha"] == json.loads(whole.stdout)["alpha"]


def test_traces_of_a_changed_model_are_not_taken_up(
    profile_of: RunJson, folders: Path, tmp_path: Path
) -> None:
    """The same names and settings, but the draft's folder now holds another model."""
    shutil.copytree(folders / "draft", folders / "changing")
    asked = ("draft=changing", "-o", str(tmp_path / "p.json"))
    first = profile_of(*asked)
    assert profile_of(*asked)["alpha"] == first["alpha"]
    shutil.copy(folders / "target" / "model.safetensors", folders / "changing")
    assert profile_of(*asked)["alpha"]["value"] == pytest.approx(1)


@pytest.mark.parametrize("drafter", ["random", "exit:1", "lookup", "lookup:1", "hf:draft"])
def test_every_kind_of_drafter_is_measured(profile_of: RunJson, drafter: str) -> None:
    profile = profile_of(f"draft={drafter}")
    assert 0 <= profile["alpha"]["value"] < 1
    assert profile["setup"]["draft"] == drafter
    if drafter == "exit:1":
        assert 0.5 < profile["c_hat"] < 1
    elif drafter != "hf:draft":
        assert profile["c_hat"] == 0


def test_a_random_draft_is_accepted_as_often_as_chance_has_it(profile_of: RunJson) -> None:
    """At temperature 0 a uniform draft's law gives the target's token 1 / vocabulary."""
    profile = profile_of("draft=random", "--temperature", "0")
    assert profile["alpha"]["value"] == pytest.approx(1 / 300)


def test_one_prompt_gives_no_interval(run: Run, run_json: RunJson, measure: list[str]) -> None:
    one = [*measure, "--num-prompts", "1"]
    profile = run_json(*one)
    assert profile["alpha"]["value"] > 0
    assert profile["c"]["value"] >= 0  # six tokens on a busy machine may not show a draft step
    for name in ("alpha", "c"):
        assert profile[name]["low"] is profile[name]["high"] is None
    lines = run(*one).stdout.splitlines()
    assert f"alpha   {profile['alpha']['value']:.4f} over 6 tokens of 1 prompts" in lines
    assert not any("[" in line for line in lines if line.startswith("c  "))
    assert "One prompt gives no interval, so no gamma is recommended" in " ".join(lines)


def test_one_new_token_is_enough(profile_of: RunJson) -> None:
    """Only the target's own token fits: nothing is drafted, no speed-up, and no failure."""
    profile = profile_of("--max-new-tokens", "1")
    assert profile["alpha"]["tokens"] == 2
    assert set(profile["target_ms"]) == {"1"}
