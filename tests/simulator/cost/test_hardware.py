"""The catalogue of accelerators."""

import pytest

from simulator.cost.hardware import ALIASES, CATALOGUE, find_hardware


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
    ],
)
def test_names_are_found_however_they_are_spelt(name: str, expected: str) -> None:
    assert find_hardware(name).name == expected


def test_unknown_gpu_lists_all_names() -> None:
    message = r"gpu must be one of a100-40gb, .*, got voodoo2$"
    with pytest.raises(ValueError, match=message) as error:
        find_hardware("voodoo2")
    assert all(name in str(error.value) for name in CATALOGUE)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_entry_names_its_source_and_has_both_roofs(name: str) -> None:
    entry = CATALOGUE[name]
    assert entry.name == name
    assert len(entry.source) > 15
    assert entry.peak_flops
    assert all(1e12 < rate < 1e16 for rate in entry.peak_flops.values())
    assert 1e11 < entry.bandwidth < 1e13
    assert 1e10 < entry.memory_bytes < 1e12


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_weight_must_be_used_many_times_before_arithmetic_binds(name: str) -> None:
    # The premise of Leviathan et al. §3.4 (compute to spare): 10 to 600 operations a byte.
    entry = CATALOGUE[name]
    dtype = next(iter(entry.peak_flops))
    assert 10 < entry.flops(dtype) / entry.bandwidth < 600


def test_a_format_the_hardware_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"dtype must be one that t4 .*float16.*got bfloat16"):
        find_hardware("t4").flops("bfloat16")


def test_aliases_lead_somewhere() -> None:
    assert set(ALIASES.values()) <= set(CATALOGUE)
