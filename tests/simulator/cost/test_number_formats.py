"""Bytes of stored weights, scales included, and the format of their products."""

import pytest

from simulator.cost.roofline.hardware import FORMATS, NumberFormat, find_format, int4


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("float32", 32),
        ("bfloat16", 16),
        # Two 16-bit values in a 128 by 128 block of bytes are nothing; a float32 scale a block.
        ("fp8", 8 + 32 / 128**2),
        # AWQ in groups of 128: a scale of 16 bits and a zero point of 4 for each.
        ("int4", 4 + 20 / 128),
        # OCP Microscaling Formats 1.0: 32 values share an exponent of 8 bits.
        ("mxfp4", 4.25),
        ("nvfp4", 4.5),
        # ggml: 34 and 18 bytes for a block of 32.
        ("q8_0", 34 * 8 / 32),
        ("q4_0", 18 * 8 / 32),
    ],
)
def test_bits_of_a_weight_are_those_of_the_format(name: str, bits: float) -> None:
    assert find_format(name).bytes_per_value * 8 == pytest.approx(bits, rel=1e-12)


def test_symmetric_groups_have_no_zero_point() -> None:
    assert int4(group=128, zero_points=False).bytes_per_value == 0.5 + 2 / 128


@pytest.mark.parametrize(
    ("weights", "activations", "product"),
    [
        ("int4", "bfloat16", "bfloat16"),
        ("mxfp4", "fp8", "fp8"),
        ("fp8", "fp8", "fp8"),
        ("fp8", "bfloat16", "bfloat16"),
        ("nvfp4", "fp4", "fp4"),
        ("bfloat16", "fp8", "bfloat16"),
    ],
)
def test_products_are_computed_in_the_wider_format(
    weights: str, activations: str, product: str
) -> None:
    assert FORMATS[weights].product_format(activations) == product


def test_an_unknown_format_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"dtype must be one of float32, .*, got int3"):
        find_format("int3")


def test_a_group_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="group must be at least 1, got 0"):
        NumberFormat("int4", 4, 0, 2.0, "fp4")
