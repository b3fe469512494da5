"""Every accepted family: passes equal steps, batches equal single texts, positions suffice.

Tiny random models of all families of transformers that a small configuration can be made of.
"""

import random
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

from estimator.timing.batched import decode_batch, padded
from reference.laws import Sampling, seeded
from reference.models.architectures import CausalModel, EncoderDecoderModel
from reference.models.cached_model import CachedModel
from reference.records import Stopping
from reference.speculative import plain_session
from tests.estimator.pairs import tiny_llama
from tests.estimator.tiny_families import DEPTHS, KINDS_OF_LAYERS, VOCABULARY, sizes_of
from tests.reference.tabular import TabularModel
from tests.reference.tiny_models import drawn

CPU = torch.device("cpu")
NEW_TOKENS = 8
SOURCE = random.Random(1)
# No 0, which pads: some encoders leave it out where it is text.
PROMPTS = [[SOURCE.randrange(4, VOCABULARY) for _ in range(length)] for length in (1, 14)]
SAMPLING, STOPPING = Sampling(), Stopping(NEW_TOKENS)
# Ids that end a text.
ENDS = frozenset(range(4))
# Far beyond the defaults of the tests, for models that name no limit.
UNLIMITED = 300

DECODER: dict[str, Any] = {"is_encoder_decoder": False, "is_decoder": True}

CAUSAL = """
    afmoe apertus arcee aria_text biogpt bitnet bloom cohere cohere2 ctrl diffllama doge ernie4_5
    ernie4_5_moe exaone4 flex_olmo gemma gemma2 gemma3_text glm glm4 glm4_moe gpt2 gpt_bigcode
    gpt_neox gpt_neox_japanese gpt_oss gptj granite granitemoe granitemoeshared helium
    hunyuan_v1_dense hunyuan_v1_moe jetmoe llama llama4_text minimax_m2 ministral mistral mixtral
    mpt nemotron olmo olmo2 olmo3 olmoe opt persimmon phi phi3 phimoe qwen2 qwen2_moe qwen3
    qwen3_moe seed_oss smollm3 stablelm starcoder2 vaultgemma xglm
"""
SEQ2SEQ = """
    bart bigbird_pegasus blenderbot blenderbot-small led longt5 m2m_100 marian mbart mt5 mvp
    nllb-moe pegasus pegasus_x plbart seamless_m4t seamless_m4t_v2 t5 umt5
"""
ENCODERS = """
    bert bert-generation big_bird camembert data2vec-text electra ernie megatron-bert rembert
    roberta roberta-prelayernorm xlm-roberta xlm-roberta-xl
"""
# Only their decoders count positions from the beginning of the row.
UNSHIFTED = """
    bart bigbird_pegasus blenderbot blenderbot-small marian mbart mvp pegasus plbart trocr roformer
"""
CASES = [
    *((name, {}) for name in (CAUSAL + SEQ2SEQ).split()),
    *((name, {"is_decoder": True}) for name in ENCODERS.split()),
    *((name, DECODER) for name in UNSHIFTED.split()),
]


def tiny(family: str, settings: dict[str, Any]) -> CachedModel:
    """Returns a random model whose layers do something: one, or two where layers may differ."""
    plain = AutoConfig.for_model(family)
    alike = not any(word in name for name in plain.to_dict() for word in KINDS_OF_LAYERS)
    chosen = {n: 1 if alike and n in DEPTHS else size for n, size in sizes_of(plain).items()} | {
        "vocab_size": VOCABULARY,
        "pad_token_id": 0,
        "decoder_start_token_id": 3,
    }
    config = AutoConfig.for_model(
        family, **chosen | {"bos_token_id": 1, "eos_token_id": 2} | settings
    )
    automatic, adapter = (
        (AutoModelForSeq2SeqLM, EncoderDecoderModel)
        if config.is_encoder_decoder
        else (AutoModelForCausalLM, CausalModel)
    )
    torch.manual_seed(0)
    module = automatic.from_config(config)
    assert module.num_parameters() < 10**6
    drawn(module, 0.4)
    model: CachedModel = adapter(module, family)
    return model


@pytest.fixture(scope="module", params=CASES, ids=lambda case: " ".join([case[0], *case[1]]))
def target(request: pytest.FixtureRequest) -> CachedModel:
    """Returns the model of a family, for all tests of that family."""
    return tiny(*request.param)


def distance(first: torch.Tensor, second: torch.Tensor) -> float:
    """Returns the largest total variation between two laws of the same position."""
    return float((first.softmax(-1) - second.softmax(-1)).abs().sum(-1).max()) / 2


def generators(texts: list[list[int]] = PROMPTS) -> list[torch.Generator]:
    return [seeded(CPU, 7, number) for number in range(len(texts))]


def texts_alone(target: CachedModel) -> list[tuple[int, ...]]:
    """Returns the text of each prompt, decoded by itself."""
    return [
        plain_session(target, prompt, sampling=SAMPLING, stopping=STOPPING, generator=generator)
        .finished()
        .tokens
        for prompt, generator in zip(PROMPTS, generators(), strict=True)
    ]


def test_a_pass_over_many_tokens_gives_the_laws_of_steps(target: CachedModel) -> None:
    tokens = torch.tensor([SOURCE.randrange(1, VOCABULARY) for _ in range(NEW_TOKENS)])
    length = len(target.start(PROMPTS[-1])) - 1
    whole = target.extend(tokens)
    target.rollback(length)
    steps = torch.cat([target.extend(token) for token in tokens.split(1)])
    assert distance(whole, steps) < 1e-4
    target.rollback(length + 4)
    assert distance(target.extend(tokens[4:]), whole[4:]) < 1e-4


def test_texts_of_a_batch_are_those_of_each_alone_or_the_batch_is_refused(
    target: CachedModel,
) -> None:
    settings: dict[str, Any] = {"sampling": SAMPLING, "stopping": STOPPING}
    if target.kind == "decoder-only" and target.name in UNSHIFTED.split():
        with pytest.raises(ValueError, match=rf"got {target.name} \(.*\), which counts them from"):
            decode_batch(target, PROMPTS, generators=generators(), **settings)
        return
    alone = texts_alone(target)
    assert len(set(alone[-1])) > 2
    assert decode_batch(target, PROMPTS, generators=generators(), **settings) == alone


def test_a_text_may_have_as_many_positions_as_the_model_says(target: CachedModel) -> None:
    length = UNLIMITED if target.max_length is None else target.max_length
    prompt = [5] * (UNLIMITED if target.max_prompt is None else target.max_prompt)
    text = target.start(prompt)
    rest = torch.tensor([text[-1]] + [6] * (length - len(text)))
    assert target.extend(rest).isfinite().any(dim=-1).all()
    assert target.length == length


SIZES = [("llama", {}), ("mistral", {"sliding_window": 6}), ("gpt2", {}), ("bloom", {}), ("t5", {})]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("case", SIZES, ids=lambda case: case[0])
def test_settings_and_ends_of_a_batch_are_each_text_s_own(
    case: tuple[str, dict[str, Any]], temperature: float
) -> None:
    """Prompts of unlike length, padding among them, a penalty that reads each text, and ends."""
    target, sampling = tiny(*case), Sampling(temperature=temperature, repetition_penalty=1.2)
    draw = random.Random(0).randrange
    texts = [[draw(4, VOCABULARY) for _ in range(length)] for length in (3, 1, 14, 2, 30)]
    settings: dict[str, Any] = {"sampling": sampling, "stopping": Stopping(16, ENDS)}
    together = decode_batch(target, texts, generators=generators(texts), **settings)
    alone = [
        plain_session(target, text, generator=generator, **settings).finished().tokens
        for text, generator in zip(texts, generators(texts), strict=True)
    ]
    assert together == alone
    assert len({token for text in alone for token in text}) > (4 if temperature else 1)


def test_decoders_are_padded_on_the_left_and_encoders_on_the_right() -> None:
    left, right = (padded([[5], [7, 8, 9]], CPU, side=side) for side in ("left", "right"))
    assert [each.tolist() for each in left] == [[[0, 0, 5], [7, 8, 9]], [[0, 0, 1], [1, 1, 1]]]
    assert [each.tolist() for each in right] == [[[5, 0, 0], [7, 8, 9]], [[1, 0, 0], [1, 1, 1]]]


@pytest.mark.parametrize(
    ("target", "prompts", "message"),
    [
        (TabularModel(lambda _: [1.0], 1), [[0]], "a batch needs a transformers model, got table"),
        (tiny_llama(seed=0), [[1], [1] * 121], r"128 positions of tiny, got 121 \+ 8 tokens"),
    ],
)
def test_a_batch_that_cannot_be_is_refused(
    target: Any, prompts: list[list[int]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        decode_batch(
            target, prompts, sampling=SAMPLING, stopping=STOPPING, generators=generators(prompts)
        )
