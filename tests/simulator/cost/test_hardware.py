"""The catalogue of accelerators and the formats of numbers."""

import pytest

from simulator.cost.roofline.hardware import (
    ALIASES,
    CATALOGUE,
    FORMATS,
    find_format,
    find_hardware,
    int4,
    own_hardware,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("h100", "h100-sxm"),
        ("H100 PCIe", "h100-pcie"),
        ("A100_40GB", "a100-40gb"),
        ("a100", "a100-80gb"),
        ("RTX 4090", "rtx-4090"),
        (" t4 ", "t4"),
        ("TPU v4", "tpu-v4"),
        ("Apple M2 Ultra", "m2-ultra"),
        ("RTX PRO 6000 Blackwell", "rtx-pro-6000"),
        ("GH200", "gh200-96gb"),
        ("4070", "rtx-4070"),
        ("RTX-4070", "rtx-4070"),
        ("rtx4070ti", "rtx-4070-ti"),
        ("rtx 4060 laptop", "rtx-4060-laptop"),
        ("RTX 4060 Mobile", "rtx-4060-laptop"),
        ("4060 Ti 16GB", "rtx-4060-ti-16gb"),
        ("7900 XTX", "rx-7900-xtx"),
        ("Ryzen AI Max+ 395", "ryzen-ai-max-395"),
        ("Intel Arc Pro B70", "arc-pro-b70"),
        ("B580", "arc-b580"),
        # As nvidia-smi names them.
        ("NVIDIA GeForce RTX 4060 Laptop GPU", "rtx-4060-laptop"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA A100-SXM4-80GB", "a100-80gb"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
        ("NVIDIA GB10", "dgx-spark"),
    ],
)
def test_names_are_found_however_they_are_spelt(name: str, expected: str) -> None:
    assert find_hardware(name).name == expected


def test_an_unknown_gpu_is_refused_with_the_list_of_names() -> None:
    message = "got voodoo2: specplan plan --gpu list prints all names; .* `gpu_flops`"
    with pytest.raises(ValueError, match=message) as error:
        find_hardware("voodoo2")
    assert not any(name in str(error.value) for name in CATALOGUE)
    assert set(ALIASES.values()) <= set(CATALOGUE)


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("h1000", "h100"),
        ("rtx-409", "rtx-4090"),
        ("rtx 4007", "rtx-4070 or .*"),
        ("rtx 4070 supr", "rtx-4070-super or rtx-4070-ti-super or rtx-4070"),
        # No desktop card of that name: the laptop's is similar, other cards' names are not meant.
        ("rtx 4050", "rtx-4050-laptop"),
    ],
)
def test_a_mistyped_name_is_refused_with_the_nearest_names(typed: str, hint: str) -> None:
    message = rf"gpu must be a name of the catalogue, got {typed} \(did you mean {hint}\?\)$"
    with pytest.raises(ValueError, match=message):
        find_hardware(typed)


@pytest.mark.parametrize("typed", ["rtx 4065", "rtx 9999", "a5000", "h300"])
def test_a_card_with_another_number_is_never_suggested(typed: str) -> None:
    with pytest.raises(ValueError, match=rf"^gpu must be a name of the catalogue, got {typed}: "):
        find_hardware(typed)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_name_finds_its_own_entry_alone(name: str) -> None:
    assert find_hardware(name) is find_hardware(name.replace("-", " ").upper()) is CATALOGUE[name]


@pytest.mark.parametrize(
    ("name", "of_float32"),
    [
        # Per core and clock, accumulating in float32: whitepapers of GA102, Ada and RTX Blackwell.
        *((name, {"bfloat16": 2, "int8": 8}) for name in CATALOGUE if name.startswith("rtx-30")),
        *(
            (name, {"bfloat16": 2, "fp8": 4, "int8": 8})
            for name in CATALOGUE
            if name.startswith("rtx-40")
        ),
        *(
            (name, {"bfloat16": 2, "fp8": 4, "int8": 8, "fp4": 16})
            for name in CATALOGUE
            if name.startswith("rtx-50")
        ),
    ],
)
def test_cards_of_a_generation_differ_in_cores_and_clock_alone(
    name: str, of_float32: dict[str, float]
) -> None:
    rates = find_hardware(name).peak_flops
    for kind, ratio in of_float32.items():
        assert rates[kind] / rates["float32"] == pytest.approx(ratio, rel=0.005)


@pytest.mark.parametrize(
    ("name", "kind", "published"),
    [
        # NVIDIA's whitepapers: peaks with float32 accumulation, and in int8, without sparsity.
        ("rtx-3080", "bfloat16", 59.5),
        ("rtx-3080", "int8", 238),
        ("rtx-3070", "bfloat16", 40.6),
        ("rtx-3070", "int8", 162.6),
        ("rtx-2080-ti", "float16", 53.8),
        # NVIDIA states 353 and 242 teraoperations with sparsity, in int8.
        ("rtx-4060-ti", "int8", 353 / 2),
        ("rtx-4060", "int8", 242 / 2),
    ],
)
def test_rates_of_cores_and_clock_are_the_published_ones(
    name: str, kind: str, published: float
) -> None:
    assert find_hardware(name).peak_flops[kind] == pytest.approx(published * 1e12, rel=0.003)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_entry_names_its_source_and_has_both_roofs(name: str) -> None:
    """A weight must be used 10 to 1000 times before arithmetic binds (Leviathan et al., §3.4)."""
    entry = CATALOGUE[name]
    assert entry.name == name
    assert len(entry.source) > 15
    assert entry.peak_flops
    assert all(1e12 < rate < 2e16 for rate in entry.peak_flops.values())
    assert 5e10 < entry.bandwidth < 1e13
    assert 5e9 < entry.memory_bytes < 1e12
    assert entry.link_bandwidth is None or 1e10 < entry.link_bandwidth < 1e12
    dtype = next(iter(entry.peak_flops))
    assert 10 < entry.flops(dtype) / entry.bandwidth < 1000


@pytest.mark.parametrize(
    "name",
    ["b200", "gb200", "gb300", "h20", "h800", "gh200", "mi325x", "mi355x", "rtx-5090",
     "rtx-pro-6000", "l20", "tpu-v5p", "tpu-v6e", "m1", "m2-max", "m3-ultra", "m4-max", "m5",
     "rtx-4080-super", "rtx-4080-laptop", "rtx-3060", "rtx-5060-ti", "rtx-2080-ti", "a40", "a2",
     "l40", "h200-nvl", "jetson-thor", "jetson-agx-orin"],
)  # fmt: skip
def test_common_gpus_are_in_the_catalogue(name: str) -> None:
    assert find_hardware(name).bandwidth > 0


def test_narrow_formats_double_the_rate_where_the_units_have_them() -> None:
    b200 = find_hardware("b200")
    assert b200.flops("fp8") == 2 * b200.flops("bfloat16")
    assert b200.flops("fp4") == 2 * b200.flops("fp8")


def test_a_format_to_unpack_runs_at_the_rate_of_16_bits() -> None:
    a100, t4 = find_hardware("a100"), find_hardware("t4")
    assert a100.flops("fp8") == a100.flops("fp4") == 312e12
    assert t4.flops("fp8") == 65e12
    assert find_hardware("h100").flops("fp4") == 1979e12


def test_hardware_of_ones_own_has_the_three_numbers_given() -> None:
    own = own_hardware(flops=2e14, bandwidth=1e12, memory_bytes=4.8e10)
    assert (own.flops("bfloat16"), own.flops("fp8")) == (2e14, 2e14)
    assert (own.bandwidth, own.memory_bytes) == (1e12, 4.8e10)


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
    # Symmetric groups have no zero point.
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
