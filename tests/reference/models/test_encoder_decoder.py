"""Encoder-decoder models against transformers' own greedy search."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import (
    AutoModelForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    XGLMConfig,
    XGLMForCausalLM,
)

from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.architectures import CausalModel, EncoderDecoderModel
from reference.models.cached_model import CachedModel
from reference.models.huggingface import load_model, require_same_kind
from reference.policies import Fixed
from reference.records import Generation, Stopping
from tests.reference.decoding import alone, scored, speculate, speculate_models
from tests.reference.tiny_models import llama

VOCABULARY = 40
NEW_TOKENS = 24
STEPS = 44
CPU = torch.device("cpu")
PROMPTS = [[7], [5, 9, 3, 22, 17, 31, 8, 4, 11, 2]]

T5_SIZES = {
    "vocab_size": VOCABULARY, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1,
    "num_decoder_layers": 2, "num_heads": 2, "relative_attention_num_buckets": 8,
    "decoder_start_token_id": 0,
}  # fmt: skip
BART_SIZES = {
    "vocab_size": VOCABULARY, "d_model": 16, "encoder_layers": 1, "decoder_layers": 2,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32, "max_position_embeddings": 64,
}  # fmt: skip
MARIAN_IDS = {"pad_token_id": 39, "decoder_start_token_id": 39, "eos_token_id": 0}
FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "t5": ("T5", "ForConditionalGeneration", T5_SIZES),
    "mt5": ("MT5", "ForConditionalGeneration", T5_SIZES | {"feed_forward_proj": "gated-gelu"}),
    "bart": ("Bart", "ForConditionalGeneration", BART_SIZES),
    "marian": ("Marian", "MTModel", BART_SIZES | MARIAN_IDS),
}
SETTINGS = {"bart": {"forced_bos_token_id": 38}, "marian": {"bad_words_ids": [[39]]}}


def learn_texts(module: Any) -> None:
    """Trains a model towards a random text for each prompt: left random, it repeats one token."""
    generator = torch.Generator().manual_seed(4)
    texts = torch.randint(1, 39, (len(PROMPTS), NEW_TOKENS), generator=generator)
    longest = max(map(len, PROMPTS))
    ids = torch.tensor([[*prompt, *[1] * (longest - len(prompt))] for prompt in PROMPTS])
    mask = torch.tensor([[at < len(prompt) for at in range(longest)] for prompt in PROMPTS]).long()
    optimizer = torch.optim.Adam(module.parameters(), 1e-2, fused=True)
    module.eval()
    for _ in range(STEPS):
        module(input_ids=ids, attention_mask=mask, labels=texts).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@pytest.fixture(scope="module")
def pairs(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, tuple[EncoderDecoderModel, EncoderDecoderModel]]:
    """Returns, for each family, a target, saved and loaded, and a disturbed copy as its draft."""
    loaded = {}
    for family, (name, suffix, sizes) in FAMILIES.items():
        folder = tmp_path_factory.mktemp(family)
        torch.manual_seed(3)
        config = getattr(transformers, f"{name}Config")(**sizes)
        module = getattr(transformers, name + suffix)(config)
        module.generation_config.update(**SETTINGS.get(family, {}))
        learn_texts(module)
        module.save_pretrained(folder / "target")
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.add_(0.4 * parameter.std() * torch.randn_like(parameter))
        target = load_model(str(folder / "target"), device=CPU)
        assert isinstance(target, EncoderDecoderModel)
        loaded[family] = (target, EncoderDecoderModel(module, "draft"))
    return loaded


Pairs = dict[str, tuple[EncoderDecoderModel, EncoderDecoderModel]]


def greedy(target: EncoderDecoderModel, prompt: list[int]) -> list[int]:
    """Returns what transformers generates after the decoder's start token."""
    ids = torch.tensor([prompt])
    # Its own cache fails where a T5 has more decoder than encoder layers, as these do.
    output = target.module.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=1, use_cache=False,
        max_new_tokens=NEW_TOKENS, eos_token_id=None, forced_eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    return output[0, 1:].tolist()


def greedily(target: CachedModel, draft: CachedModel, prompt: list[int], gamma: int) -> Generation:
    """Returns a greedy speculative text."""
    return speculate_models(
        target, draft, prompt, Sampling(0.0), Fixed(gamma), Stopping(NEW_TOKENS)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_text_is_that_of_generate(family: str, pairs: Pairs) -> None:
    target, draft = pairs[family]
    for prompt, gammas in zip(PROMPTS, ((7,), (1, 3)), strict=True):
        expected = greedy(target, prompt)
        # A text that repeats itself, or a draft that is always or never right, would show little.
        assert len(set(expected)) > 10
        for gamma in gammas:
            generation = greedily(target, draft, prompt, gamma)
            assert [*generation.text, *generation.tokens][1 : NEW_TOKENS + 1] == expected
            assert 0 < generation.accepted < generation.drafted


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_after_rollbacks_are_those_of_one_pass(family: str, pairs: Pairs) -> None:
    target, _ = pairs[family]
    text = target.start(PROMPTS[1])
    tokens = torch.arange(1, 11)
    target.extend(torch.tensor([text[-1], 30, 31, 32]))
    target.rollback(len(text))
    first = target.extend(tokens[:4])
    target.rollback(len(text) + 2)
    second = target.extend(tokens[2:])
    whole = target.module(
        input_ids=torch.tensor([PROMPTS[1]]),
        decoder_input_ids=torch.cat([torch.tensor(text), tokens])[None],
    ).logits[0, len(text) :]
    if family == "marian":
        whole[:, 39] = -torch.inf
    torch.testing.assert_close(first[:2], whole[:2], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(second, whole[2:], atol=1e-4, rtol=1e-4)


def test_the_encoder_runs_once_for_each_model(pairs: Pairs) -> None:
    runs = []
    encoders = [model.module.get_encoder() for model in pairs["t5"]]
    hooks = [
        encoder.register_forward_hook(lambda module, *_: runs.append(module))
        for encoder in encoders
    ]
    greedily(*pairs["t5"], PROMPTS[1], 3)
    for hook in hooks:
        hook.remove()
    assert sorted(runs, key=id) == sorted(encoders, key=id)


def test_texts_begin_with_the_start_token_and_a_forced_first_token(pairs: Pairs) -> None:
    beginnings, limits = {}, {}
    for family, (target, _) in pairs.items():
        beginnings[family], limits[family] = target.start([5, 6]), target.max_length
        assert target.length == len(beginnings[family]) - 1
    assert beginnings == {"t5": [0], "mt5": [0], "bart": [2, 38], "marian": [39]}
    # Relative positions have no limit.
    assert limits == {"t5": None, "mt5": None, "bart": 64, "marian": 64}


def test_a_token_that_the_settings_exclude_has_no_probability(pairs: Pairs) -> None:
    target, _ = pairs["marian"]
    text = target.start(PROMPTS[0])
    law = Sampling().laws(target.extend(torch.tensor(text)), text)
    assert law.of(torch.tensor([39])).item() == 0


def test_scoring_a_text_in_one_pass_gives_the_laws_of_decoding(pairs: Pairs) -> None:
    target, draft = pairs["bart"]
    sampling = Sampling()
    continuation = list(greedily(target, draft, PROMPTS[1], 3).tokens)
    drafter = ModelDrafter(target, sampling, target.vocabulary)
    scores = scored(target, drafter, PROMPTS[1], continuation, 4, sampling)
    # Laws are float32: a row's mass is 1 up to the rounding of its sum.
    ones = torch.ones(NEW_TOKENS, dtype=torch.float64)
    torch.testing.assert_close(scores.beta, ones, rtol=0, atol=2e-6)


def test_a_text_beyond_the_decoders_positions_is_refused(pairs: Pairs) -> None:
    target, _ = pairs["marian"]
    with pytest.raises(ValueError, match=r"must fit the 64 positions of .*, got 1 \+ 64 tokens"):
        alone(target, [5, 6], Sampling(0.0), Stopping(64))


def test_an_empty_prompt_and_one_beyond_the_encoders_positions_are_refused(pairs: Pairs) -> None:
    with pytest.raises(ValueError, match=r"must fit the 64 positions of .*, got 65 tokens"):
        pairs["bart"][0].start([5] * 65)
    with pytest.raises(ValueError, match="at least one token"):
        pairs["t5"][0].start([])


def test_a_pair_of_two_kinds_is_refused(pairs: Pairs) -> None:
    decoder_only = CausalModel(llama(), "llama")
    t5 = pairs["t5"][0]
    with pytest.raises(ValueError, match=r"got .* \(encoder-decoder\) and llama \(decoder-only\)"):
        require_same_kind(t5, decoder_only)
    with pytest.raises(ValueError, match=r"got llama \(decoder-only\) and .* \(encoder-decoder\)"):
        require_same_kind(decoder_only, t5)
    for target, draft in ((t5, decoder_only), (decoder_only, t5)):
        with pytest.raises(ValueError, match="both be decoder-only or both encoder-decoder"):
            greedily(target, draft, [5, 6], 2)
    require_same_kind(*pairs["t5"])


def test_a_model_without_a_start_token_is_refused() -> None:
    module = T5ForConditionalGeneration(T5Config(**T5_SIZES | {"decoder_start_token_id": None}))
    module.generation_config.decoder_start_token_id = None
    with pytest.raises(ValueError, match="nameless must name its decoder's start token"):
        EncoderDecoderModel(module, "nameless")


GREEDY = Sampling(0.0)
PADDING = 1
# A padding id in the prompt is text: RoBERTa's own count of positions leaves it out.
PROMPT = [3, 9, 14, PADDING, 22, 5]
LENGTH = 20
ENCODERS = ["Bert", "Roberta", "Electra", "XLMRobertaXL"]


def random_module(family: str, *, is_decoder: bool) -> Any:
    """Returns a random model whose layers do something."""
    sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1}
    ids = {"pad_token_id": PADDING, "bos_token_id": None, "eos_token_id": None}
    others = {"num_attention_heads": 2, "max_position_embeddings": 64, "tie_word_embeddings": False}
    config_class = getattr(transformers, f"{family}Config")
    config = config_class(**sizes | ids | others, is_decoder=is_decoder)
    torch.manual_seed(2)
    module = AutoModelForCausalLM.from_config(config)
    return with_noise(module, 1.0)


def with_noise(module: Any, noise: float) -> Any:
    """Returns the module with normal noise on its matrices."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() > 1:
                parameter += noise * torch.randn_like(parameter)
    return module


def loaded(module: Any, folder: Path) -> CachedModel:
    module.save_pretrained(folder)
    return load_model(str(folder), device=torch.device("cpu"))


@pytest.mark.parametrize("family", ENCODERS)
def test_greedy_text_of_an_encoder_made_a_decoder_is_that_of_generate(
    family: str, tmp_path: Path
) -> None:
    module = random_module(family, is_decoder=True)
    target = loaded(module, tmp_path / "target")
    draft = loaded(with_noise(module, 0.02), tmp_path / "draft")
    ids = torch.tensor([PROMPT])
    output = target.module.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=LENGTH
    )
    expected = tuple(output[0, len(PROMPT) :].tolist())
    assert len(set(expected)) > 2
    stopping = Stopping(LENGTH)
    assert alone(target, PROMPT, GREEDY, stopping).tokens == expected
    drafter = ModelDrafter(draft, GREEDY, target.vocabulary)
    for gamma in (1, 3, 7):
        found = speculate(target, drafter, PROMPT, GREEDY, Fixed(gamma), stopping)
        assert found.tokens == expected


@pytest.mark.parametrize("family", ENCODERS)
def test_an_encoder_is_refused_by_name(family: str, tmp_path: Path) -> None:
    """Its earlier tokens see later ones, which none of its cached rows did."""
    module = random_module(family, is_decoder=False)
    message = (
        rf"{tmp_path} \({module.config.model_type}\) is an encoder, whose tokens see later ones, "
        "and cannot decode; its configuration must have is_decoder true, got false"
    )
    with pytest.raises(ValueError, match=message):
        loaded(module, tmp_path)


def test_a_decoder_that_could_attend_across_is_no_encoder() -> None:
    config = XGLMConfig(vocab_size=50, d_model=16, num_layers=1, attention_heads=2, ffn_dim=16)
    CausalModel(XGLMForCausalLM(config), "xglm")
