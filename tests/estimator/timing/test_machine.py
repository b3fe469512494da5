"""The machine in words: its processor, its cores, and the GPUs that the driver's program names."""

import platform
from pathlib import Path

import pytest

from estimator.timing import machine as module
from estimator.timing.machine import machine


@pytest.mark.parametrize(
    ("program", "gpus"),
    [
        ("printf 'NVIDIA L4\\nNVIDIA L4\\n'", "2 of NVIDIA L4, "),
        ("echo NVIDIA L4", "NVIDIA L4, "),
        ("exit 9", ""),
        (None, ""),
    ],
)
def test_gpus_come_before_the_processor_and_its_cores(
    program: str | None, gpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if program is not None:
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin" if program else str(tmp_path))
    info = tmp_path / "cpuinfo"
    info.write_text("processor : 0\nmodel name\t: Some CPU @ 2 GHz\n")
    monkeypatch.setattr(module, "_CPUINFO", info)
    monkeypatch.setattr(module, "own_cores", lambda: {0, 1, 2})
    assert machine() == f"{gpus}Some CPU @ 2 GHz, 3 cores"


def test_without_linuxs_file_the_system_names_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module, "_CPUINFO", tmp_path / "none")
    monkeypatch.setattr(module, "own_cores", lambda: {0})
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert machine() == "arm64, 1 core"
    named = '#!/bin/sh\n[ "$2" = machdep.cpu.brand_string ] && echo Apple M2\n'
    (tmp_path / "sysctl").write_text(named)
    (tmp_path / "sysctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert machine().endswith("Apple M2, 1 core")
