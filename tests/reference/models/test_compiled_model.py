"""Compiled passes: distributions equal the model's own, also after padding and roll-backs.

All is tested of programs that are traced and run by PyTorch itself; where there is a C++ compiler,
of machine code, too, which is what a user decodes with: one program of one layer, since each of its
kernels takes the compiler a second.
"""

import os
import shutil
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.models.compiled_model import CompiledModel, CompileError
from reference.policies import Fixed
from reference.records import Stopping
from tests.reference.decoding import alone, speculate_models
from tests.reference.tiny_models import with_noise

PROMPT = [3, 1, 4]
SMALL: dict[str, Any] = {
    "vocab_size": 24, "hidden_size": 16, "intermediate_size": 32,
    "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "initializer_range": 0.4, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip


# PyTorch tries by compilers which vectors a processor has, which takes longer than our kernels do.
SCALARS = {"cpp.simdlen": 1, "cpp.vec_isa_ok": True}


def llama(*, layers: int = 2, noise: float = 0.0) -> CausalModel:
    torch.manual_seed(0)
    module = LlamaForCausalLM(LlamaConfig(**SMALL, num_hidden_layers=layers)).double()
    with_noise(module, noise)
    return CausalModel(module, "llama")


def broken(*_: Any) -> Any:
    raise RuntimeError("no compiler")


def compiled(model: CausalModel, *widths: int, backend: str = "eager") -> CompiledModel:
    return CompiledModel(model, longest=40, widths=widths, backend=backend)


def plain_pair(layers: int) -> tuple[CausalModel, CausalModel]:
    return llama(layers=layers), llama(layers=layers, noise=0.05)


MACHINE_CODE = pytest.param(
    1,
    id="inductor",
    marks=pytest.mark.skipif(
        shutil.which(os.environ.get("CXX", "g++")) is None, reason="no C++ compiler here"
    ),
)


@pytest.fixture(scope="module")
def draft() -> CompiledModel:
    return compiled(plain_pair(2)[1], 2)


@pytest.fixture(scope="module", params=[pytest.param(2, id="eager"), MACHINE_CODE])
def pair(request: pytest.FixtureRequest, draft: CompiledModel) -> tuple[CompiledModel, CausalModel]:
    """Returns a target that is compiled, and a draft; the number of layers selects how."""
    target, near = plain_pair(request.param)
    if request.param == 2:
        return compiled(target, 1, 5), draft
    with torch._inductor.config.patch(SCALARS):
        return compiled(target, 5, backend="inductor"), near


def test_logits_are_the_models_own_through_padding_and_rollback(
    pair: tuple[CompiledModel, CausalModel],
) -> None:
    made = pair[0]
    layers = made.module.config.num_hidden_layers
    plain, _ = plain_pair(layers)
    # Llama's norms are of single precision in every model, and machine code sums in its own order.
    apart = 1e-9 if layers == 2 else 1e-5
    for prompt in ([3, 1, 4, 1, 5], [2], [7, 7]):
        for model in (plain, made):
            model.start(prompt)
        for length, tokens in (
            (None, [9]), (None, [2, 6, 5]), (len(prompt), [1, 1, 1, 1, 1]), (len(prompt) + 2, [8]),
            (None, [4, 4, 4, 4, 4, 4, 4]), (len(prompt), [3, 3]),
        ):  # fmt: skip
            if length is not None:
                for model in (plain, made):
                    model.rollback(length)
            ours, own = (model.extend(torch.tensor(tokens)) for model in (made, plain))
            assert ours.shape == own.shape
            torch.testing.assert_close(ours, own, rtol=apart, atol=apart)
            assert made.length == plain.length


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("gamma", [1, 3, 4])
def test_decoding_through_it_is_decoding(
    pair: tuple[CompiledModel, CausalModel], temperature: float, gamma: int
) -> None:
    """In double precision the same draws give the same ids, block by block.

    In machine code, whose norms are in single precision, a draw falls between its law and the
    model's own with odds of 1e-6 a token, 1e-3 over all draws here.
    """
    sampling, stopping = Sampling(temperature=temperature), Stopping(12)
    texts = []
    for target, draft in (pair, plain_pair(pair[0].module.config.num_hidden_layers)):
        run = speculate_models(target, draft, PROMPT, sampling, Fixed(gamma), stopping, seed=1)
        generator = torch.Generator().manual_seed(1)
        own = alone(target, PROMPT, sampling, stopping, generator=generator)
        texts.append([[block.tokens for block in each.blocks] for each in (run, own)])
        if temperature == 0:
            assert run.tokens == own.tokens
    assert texts[0] == texts[1]


def test_a_text_beyond_the_compiled_length_is_refused(draft: CompiledModel) -> None:
    draft.start([1] * 40)
    draft.extend(torch.tensor([1, 1, 1]))
    with pytest.raises(ValueError, match="must fit the 42 positions that llama was compiled for"):
        draft.extend(torch.tensor([1]))
    with pytest.raises(ValueError, match=r"length must lie in \[0, 42\], got 43"):
        draft.rollback(43)


def test_models_that_cannot_be_compiled_raise_a_reason(draft: CompiledModel) -> None:
    with pytest.raises(CompileError, match=r"compiling llama failed: .*no compiler"):
        CompiledModel(llama(layers=1), longest=8, widths=(1,), backend=broken)
    windowed = MistralForCausalLM(MistralConfig(**SMALL, num_hidden_layers=1, sliding_window=4))
    with pytest.raises(ValueError, match=r"see the whole text, got m \(mistral\) with sliding"):
        compiled(CausalModel(windowed, "m"), 1)
    draft.start([1])
    with pytest.raises(ValueError, match="need a model that is not compiled, got llama"):
        draft.extend(torch.tensor([1, 2]), parents=[-1, 0])
