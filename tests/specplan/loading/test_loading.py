"""From options to models, drafters and prompts."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import GenerationConfig

import specplan.loading.prompts
from reference.drafters.model_drafter import ModelDrafter
from reference.laws.sampling import Sampling
from reference.models.encoder_decoder import EncoderDecoderModel
from reference.models.huggingface import CausalModel
from reference.rules.lenience import Lenient
from specplan.loading.origins import file_stamps, model_files
from specplan.loading.pairs import acceptance_rule, draft_names, load, sampling_at
from specplan.options.drafter_names import parse_drafter
from specplan.options.model_options import ModelOptions

SAMPLING = Sampling()


@pytest.fixture
def options(folders: Path, monkeypatch: pytest.MonkeyPatch) -> ModelOptions:
    monkeypatch.chdir(folders)
    return ModelOptions(
        target="target",
        drafts=("draft",),
        force=False,
        device="cpu",
        dtype="auto",
        trust_remote_code=False,
        prompts="prompts.txt",
        num_prompts=8,
        prompt_tokens=None,
        chat=False,
        max_new_tokens=10,
        top_k=None,
        top_p=1.0,
        min_p=0.0,
        repetition_penalty=1.0,
        draft_temperature=None,
    )


def test_what_is_named_is_loaded(options: ModelOptions) -> None:
    loaded = load(options, ("draft", "lookup"))
    assert loaded.target.name == "target"
    assert isinstance(loaded.target, CausalModel)
    assert loaded.target.module.dtype == torch.float32
    assert list(loaded.drafters) == ["draft", "lookup"]
    drafters = [drafter_of(SAMPLING) for drafter_of in loaded.drafters.values()]
    assert [drafter.name for drafter in drafters] == ["draft", "lookup"]
    assert len(loaded.prompts) == 4
    assert loaded.stopping.max_new_tokens == 10
    assert loaded.stopping.end_ids == {0}


@pytest.mark.parametrize(
    ("draft", "name"),
    [
        ("hf:draft", "draft"),
        ("exit:1", "exit:1"),
        ("random", "random"),
        ("lookup:2", "lookup:2"),
        ("lookup", "lookup"),
    ],
)
def test_reports_call_drafters_as_a_user_would(
    options: ModelOptions, draft: str, name: str
) -> None:
    [drafter_of] = load(options, (draft,)).drafters.values()
    assert drafter_of(SAMPLING).name == name


def test_a_drafter_has_the_sampling_settings_it_is_made_for(options: ModelOptions) -> None:
    [drafter_of] = load(options, ("draft",)).drafters.values()
    for sampling in (Sampling(temperature=0), Sampling(top_k=5)):
        drafter = drafter_of(sampling)
        assert isinstance(drafter, ModelDrafter)
        assert drafter.sampling == sampling


def test_precision_and_kind_come_from_option_and_checkpoint(options: ModelOptions) -> None:
    half = load(replace(options, dtype="bfloat16"), ()).target
    assert half.module.dtype == torch.bfloat16
    target = load(replace(options, target="encdec"), ()).target
    assert isinstance(target, EncoderDecoderModel)


def test_prompts_are_counted_and_cut(options: ModelOptions) -> None:
    loaded = load(replace(options, num_prompts=2, prompt_tokens=3), ())
    assert [len(prompt) for prompt in loaded.prompts] == [3, 3]


def test_a_given_prompt_takes_the_place_of_the_file(options: ModelOptions) -> None:
    loaded = load(replace(options, prompts="none"), (), "some text")
    assert loaded.tokenizer.decode(loaded.prompts[0]) == "some text"


def test_a_chat_prompt_stands_in_the_template(options: ModelOptions) -> None:
    loaded = load(replace(options, target="chat", chat=True), (), "hi")
    assert loaded.tokenizer.decode(loaded.prompts[0]) == "<user>hi<answer>"


def test_settings_of_the_targets_own_that_are_not_applied_are_told(
    options: ModelOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree("target", tmp_path / "target")
    monkeypatch.chdir(tmp_path)
    GenerationConfig(
        do_sample=True, temperature=0.6, top_p=0.95, repetition_penalty=1.1
    ).save_pretrained("target")
    load(options, (), "a")
    assert capsys.readouterr().err == (
        "Warning: not applied of the generation_config of target: temperature 0.6, top_p\n"
        "  0.95, repetition_penalty 1.1\n"
    )
    load(replace(options, top_p=0.95, repetition_penalty=1.1), (), "a")
    assert capsys.readouterr().err == (
        "Warning: not applied of the generation_config of target: temperature 0.6\n"
    )


def test_half_a_character_is_refused(options: ModelOptions) -> None:
    with pytest.raises(ValueError, match=r"prompt must be whole Unicode .* U\+DCFF at character 2"):
        load(options, (), "a\udcff")


def test_categories_stand_beside_the_prompts(options: ModelOptions, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"text": "a", "category": "qa"}\n{"text": "b"}\n{"text": "a"}\n')
    loaded = load(replace(options, prompts=str(path), num_prompts=2), ())
    assert loaded.categories == ["qa", None]


def test_what_is_no_text_is_left_out_with_a_warning(
    options: ModelOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("b", "c"):
        (tmp_path / name).write_bytes(b"\0")
    (tmp_path / "a").write_text("a")
    assert len(load(replace(options, prompts=str(tmp_path)), ()).prompts) == 1
    told = capsys.readouterr().err
    assert " ".join(told.split()) == f"Warning: left out as no text: {tmp_path}/b and 1 more"


@pytest.mark.parametrize(
    ("found", "message"),
    [(0, "this Python's library has no held-out source of 64 tokens"), (3, None)],
)
def test_a_library_with_few_sources_is_said_to_have_few(
    options: ModelOptions,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    found: int,
    message: str | None,
) -> None:
    def embedded_prompts(*_: object, **__: object) -> list[list[int]]:
        return [[1] * 64] * found

    monkeypatch.setattr(specplan.loading.prompts, "embedded_prompts", embedded_prompts)
    library = replace(options, prompts=None)
    if message is None:
        assert len(load(library, ()).prompts) == found
        assert capsys.readouterr().err == (
            "Warning: the library has 3 held-out sources of 64 tokens, no more\n"
        )
    else:
        with pytest.raises(ValueError, match=message):
            load(library, ())


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
    options: ModelOptions, target: str | None, drafts: tuple[str, ...], names: tuple[str, ...]
) -> None:
    assert draft_names(replace(options, target=target, drafts=drafts)) == names


def test_settings_become_sampling_and_rule(options: ModelOptions) -> None:
    given = replace(options, top_k=3, top_p=0.9, min_p=0.1, repetition_penalty=1.2)
    assert sampling_at(0.5, given) == Sampling(0.5, 3, 0.9, 0.1, 1.2)
    assert acceptance_rule(1.0).lossless
    assert acceptance_rule(0.5) == Lenient(0.5)


def test_stamps_change_with_the_files_of_any_part(
    options: ModelOptions, tmp_path: Path
) -> None:
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
