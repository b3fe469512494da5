"""From options to models, drafters, prompts and policies."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GenerationConfig

import estimator.prompts.prompts
from estimator.draft_names.kind import draft_names, parse_drafter
from estimator.loading.folders import file_stamps, load_named_tokenizer, model_files
from estimator.loading.pairs import load, parse_policies
from estimator.progress import Notice
from estimator.rule_names import acceptance_rule
from estimator.settings import (
    ModelSettings,
    PromptSettings,
    SamplingSettings,
    TargetSettings,
    draft_sampling,
)
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.architectures import CausalModel, EncoderDecoderModel
from reference.models.embedded import embedded_tokenizer
from reference.policies import Confidence, Fixed, Heuristic
from reference.rules import BlockVerification, Lenient

SAMPLING = Sampling()
TEXT = PromptSettings(prompts="prompts.txt", max_new_tokens=10)
BARE = PromptSettings(max_new_tokens=10)
TARGET = TargetSettings(target="target", device="cpu")


@pytest.fixture(autouse=True)
def in_the_folder(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders)


def pair(*drafts: str, **settings: Any) -> ModelSettings:
    return ModelSettings(target="target", device="cpu", drafts=drafts or ("draft",), **settings)


def test_named_models_are_loaded() -> None:
    loaded = load(pair("draft", "lookup"), TEXT)
    assert loaded.target.name == "target"
    assert isinstance(loaded.target, CausalModel)
    assert loaded.target.module.dtype == torch.float32
    assert list(loaded.drafters) == ["draft", "lookup"]
    drafters = [drafter_of(SAMPLING) for drafter_of in loaded.drafters.values()]
    assert [drafter.name for drafter in drafters] == ["draft", "lookup"]
    assert len(loaded.prompts) == 4
    assert loaded.stopping.max_new_tokens == 10
    assert loaded.stopping.end_ids == {0}


@pytest.mark.parametrize("draft", ["hf:draft", "exit:1", "random", "lookup:2", "lookup"])
def test_reports_call_drafters_as_a_user_would(draft: str) -> None:
    [drafter_of] = load(pair(draft), TEXT).drafters.values()
    assert drafter_of(SAMPLING).name == draft.removeprefix("hf:")


def test_a_drafter_has_the_sampling_settings_it_is_made_for() -> None:
    [drafter_of] = load(pair(), TEXT).drafters.values()
    for sampling in (Sampling(temperature=0), Sampling(top_k=5)):
        drafter = drafter_of(sampling)
        assert isinstance(drafter, ModelDrafter)
        assert drafter.sampling == sampling


def test_precision_and_kind_come_from_option_and_checkpoint() -> None:
    half = load(TargetSettings(target="target", dtype="bfloat16"), TEXT).target
    assert half.module.dtype == torch.bfloat16
    target = load(TargetSettings(target="encdec"), TEXT).target
    assert isinstance(target, EncoderDecoderModel)


def test_prompts_are_counted_cut_given_or_of_a_chat() -> None:
    loaded = load(TARGET, replace(TEXT, num_prompts=2, prompt_tokens=3))
    assert [len(prompt) for prompt in loaded.prompts] == [3, 3]
    loaded = load(TARGET, BARE, prompt="some text")
    assert loaded.tokenizer.decode(loaded.prompts[0]) == "some text"
    loaded = load(TargetSettings(target="chat"), replace(BARE, chat=True), prompt="hi")
    assert loaded.tokenizer.decode(loaded.prompts[0]) == "<user>hi<answer>"


def test_unapplied_settings_of_the_target_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree("target", tmp_path / "target")
    monkeypatch.chdir(tmp_path)
    GenerationConfig(
        do_sample=True, temperature=0.6, top_p=0.95, repetition_penalty=1.1
    ).save_pretrained("target")
    told = "not applied of the generation_config of target: temperature 0.6"
    with pytest.warns(Notice, match=f"^{told}, top_p 0.95, repetition_penalty 1.1$"):
        load(TARGET, BARE, prompt="a")
    applied = SamplingSettings(top_p=0.95, repetition_penalty=1.1)
    with pytest.warns(Notice, match=f"^{told}$"):
        load(TARGET, BARE, prompt="a", sampling=applied)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match=r"prompt must be whole Unicode .* U\+DCFF at character 2"):
        load(TARGET, BARE, prompt="a\udcff")


def test_categories_stand_beside_the_prompts(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"text": "a", "category": "qa"}\n{"text": "b"}\n{"text": "a"}\n')
    loaded = load(TARGET, replace(TEXT, prompts=str(path), num_prompts=2))
    assert [text.category for text in loaded.texts] == ["qa", None]


@pytest.mark.parametrize("found", [0, 3])
def test_a_library_with_few_sources_is_said_to_have_few(
    monkeypatch: pytest.MonkeyPatch, found: int
) -> None:
    prompts = [[1] * 64] * found
    monkeypatch.setattr(estimator.prompts.prompts, "embedded_prompts", lambda *_, **__: prompts)
    library = replace(TEXT, prompts=None)
    if found:
        with pytest.warns(Notice, match="^the library has 3 held-out sources of 64 tokens, no"):
            assert len(load(TARGET, library).prompts) == found
    else:
        with pytest.raises(ValueError, match="library has no held-out source of 64 tokens"):
            load(TARGET, library)


@pytest.mark.parametrize(
    ("target", "drafts", "names"),
    [
        (None, (), ("embedded",)),
        ("embedded", (), ("embedded",)),
        (None, ("lookup",), ("lookup",)),
        ("t", ("a", "b"), ("a", "b")),
    ],
)
def test_the_embedded_draft_goes_with_the_embedded_target(
    target: str | None, drafts: tuple[str, ...], names: tuple[str, ...]
) -> None:
    assert draft_names(ModelSettings(target=target, drafts=drafts)) == names


def test_settings_become_sampling_and_rule() -> None:
    given = SamplingSettings(top_k=3, top_p=0.9, min_p=0.1, repetition_penalty=1.2)
    assert given.at(0.5) == Sampling(0.5, 3, 0.9, 0.1, 1.2)
    assert draft_sampling(given.at(0.5), 0) == Sampling(0, 3, 0.9, 0.1, 1.2)
    assert acceptance_rule().lossless
    assert acceptance_rule(lenience=0.5) == Lenient(0.5)
    assert isinstance(acceptance_rule("block", 1), BlockVerification)


@pytest.mark.parametrize("setting", ["lattice_k", "rescoring_weight"])
def test_a_setting_that_no_draft_reads_is_refused(setting: str) -> None:
    with pytest.raises(ValueError, match=rf"^{setting} is not read by draft draft, lookup$"):
        load(pair("draft", "lookup", **{setting: 1}), TEXT)


def test_stamps_change_with_the_files_of_any_part(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    arpa = tmp_path / "m.arpa"
    files: list[Callable[[str], object]] = [(model / "weights").write_text, arpa.write_text]
    for write in files:
        write("a")
    drafters = [parse_drafter(f"lookup+ngram:{arpa}"), parse_drafter("embedded")]

    def stamps() -> list[str]:
        return model_files(str(model), drafters)

    for write in files:
        before = stamps()
        assert before == stamps()
        write("ab")
        assert before != stamps()


def test_a_hub_name_stands_for_itself() -> None:
    assert file_stamps("some/model") == ["some/model"]


def test_fixed_stands_for_every_gamma_and_adaptive_for_none_yet() -> None:
    assert parse_policies(
        ["fixed", "confidence:0.4", "heuristic", "adaptive"], gammas=[2, 4, 2], max_gamma=16
    ) == {
        "gamma 2": Fixed(2),
        "gamma 4": Fixed(4),
        "confidence:0.4": Confidence(threshold=0.4, most=16),
        "heuristic": Heuristic(start=5, most=16),
        "adaptive": None,
    }


def test_the_heuristic_starts_no_higher_than_it_may_go() -> None:
    assert parse_policies(["heuristic"], gammas=[], max_gamma=3)["heuristic"] == Heuristic(
        start=3, most=3
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "clever",
            "policy must be fixed, heuristic, confidence:P, product:P or adaptive, got 'clever'",
        ),
        ("heuristic:3", "policy must be"),
        ("confidence", r"needs a threshold P in \[0, 1\], got 'confidence'"),
        ("confidence:x", r"needs a threshold P in \[0, 1\], got 'confidence:x'"),
        ("confidence:1.5", r"needs a threshold P in \[0, 1\]"),
        ("confidence:nan", r"needs a threshold P in \[0, 1\]"),
        ("product:-0.1", r"policy product:P needs a threshold P in \[0, 1\], got 'product:-0.1'"),
    ],
)
def test_unusable_policies_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_policies([name], gammas=[4], max_gamma=16)


def test_the_embedded_tokenizer_reads_texts_as_transformers_does() -> None:
    light, whole = embedded_tokenizer(), load_named_tokenizer("embedded")
    for text in (Path(__file__).read_text(), " é\n\n\tx  ", "<|endoftext|>", ""):
        assert light(text)["input_ids"] == whole(text)["input_ids"]
