"""`scripts/faults.py`: every fault fits its file, and a run names the test that finds a fault."""

from dataclasses import replace
from pathlib import Path

import pytest
from faults import ROOT, Fault, failures, faults, noticed_by

FAULTS = faults()


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_fits_its_file_and_names_test_files(fault: Fault) -> None:
    source = (ROOT / fault.file).read_text(encoding="utf-8")
    compile(fault.applied(source), fault.file, "exec")
    assert fault.wrong != fault.text
    assert fault.tests
    assert all((ROOT / "tests" / name).is_file() for name in fault.tests)


def test_a_third_of_the_faults_come_from_others_or_were_mended_here() -> None:
    observed = [fault for fault in FAULTS.values() if fault.kind in ("others", "mended")]
    assert len(FAULTS) >= 28
    assert 3 * len(observed) >= len(FAULTS)


@pytest.mark.parametrize("text", ["absent", "1"])
def test_words_that_do_not_occur_once_are_refused_by_the_faults_name(text: str) -> None:
    fault = replace(FAULTS["odds-of-a-loss"], text=text, file="sum.py")
    with pytest.raises(ValueError, match=r"fault odds-of-a-loss: '.*' must occur once in sum.py"):
        fault.applied("total = 1 + 1\n")


def test_a_fault_is_found_by_a_test_that_fails_by_it_and_then_taken_back(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "sum.py").write_text("def total(a, b):\n    return a + b\n")
    test = "from sum import total\n\n\ndef test_total():\n    assert total({}) == {}\n"
    (tmp_path / "tests/test_seen.py").write_text(test.format("2, 3", 5))
    (tmp_path / "tests/test_blind.py").write_text(test.format("0, 0", 0))
    (tmp_path / "tests/test_broken.py").write_text(test.format("2, 3", 6))
    fault = Fault("minus", "chosen", "sum.py", "a + b", "a - b", "", ("test_blind.py",))
    assert noticed_by(fault, tmp_path) is None
    seen = replace(fault, tests=("test_blind.py", "test_seen.py"))
    assert noticed_by(seen, tmp_path) == "tests/test_seen.py::test_total"
    assert failures(tmp_path, ["tests"]) == ["tests/test_broken.py::test_total"]
    with pytest.raises(RuntimeError, match="pytest ended with 4"):
        failures(tmp_path, ["tests/test_absent.py"])
    assert (tmp_path / "sum.py").read_text() == "def total(a, b):\n    return a + b\n"
