"""Results of a model's counts: totals, multiplied weights, weights per token."""

from dataclasses import replace

from known_shapes import LLAMA_8B, MIXTRAL, dense

from simulator.cost.roofline.shapes import Weights


def test_parameters_are_those_published() -> None:
    assert LLAMA_8B.parameters == 8_030_261_248
    assert MIXTRAL.parameters == 46_702_792_704


def test_the_input_embedding_is_looked_up_not_multiplied() -> None:
    assert LLAMA_8B.active_parameters == 8_030_261_248 - 4096 * 128256


def test_a_token_takes_the_experts_that_it_is_sent_to() -> None:
    # Published: 12.9e9 active parameters, the input embedding included.
    assert MIXTRAL.active_parameters + 4096 * 32000 == 12_879_925_248


def test_cache_grows_by_128_kib_a_token_in_llama_8b() -> None:
    assert LLAMA_8B.cache_bytes_per_token == 128 * 1024


def test_borrowed_weights_are_read_and_not_held() -> None:
    borrowed = replace(dense("head", 1000), held=False)
    shape = replace(LLAMA_8B, weights=(dense("attention", 10), borrowed))
    assert shape.parameters == 10
    assert shape.weight_bytes == 20
    assert shape.active_parameters == 1010
    assert shape.values("head") == 1000


def test_stored_bytes_may_be_fewer_than_two_a_weight() -> None:
    quantised = Weights("attention", 1000, 1000 * 0.5195, "bfloat16")
    assert replace(LLAMA_8B, weights=(quantised,)).weight_bytes == 519.5
