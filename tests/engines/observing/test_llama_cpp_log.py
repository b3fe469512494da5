"""What llama.cpp logs of its drafts, as two of its builds print it."""

from pathlib import Path

import pytest

from engines.observing.observation import Observation
from engines.sources import observe

# The lines of pull request 24536, and of a log before it.
EAGLE3 = """\
0.06.895.980 I slot print_timing: id  1 | task 0 | prompt eval time =     300.11 ms /    20 tokens
0.06.895.998 I slot print_timing: id  1 | task 0 |        eval time =    2296.72 ms /   256 tokens
0.06.896.015 I slot print_timing: id  1 | task 0 | draft acceptance = 0.64479 (  167 accepted /  \
 259 generated), mean acceptance length =  2.92, acceptance rate per position = (0.805, 0.632)
0.06.896.057 I statistics     draft-eagle3: #calls(b,g,a) =    1     87     87, #gen drafts =     \
87, #acc drafts =    70, #gen tokens =    259, #acc tokens =   167, #mean acc len = 2.92, \
#acc rate/pos = (0.805, 0.632, 0.483), dur(b,g,a) = 0.005, 325.555, 0.114 ms
"""
MTP = """\
[44195] 4.26.848.548 I statistics        draft-mtp: #calls(b,g,a) =    1    882    882, \
#gen drafts =    882, #acc drafts =   716, #gen tokens =   5292, #acc tokens =  2222, \
dur(b,g,a) = 0.003, 70964.224, 0.918 ms
"""


def observed(tmp_path: Path, text: str, gamma: int | None = None) -> Observation:
    file = tmp_path / "server.log"
    file.write_text(text)
    return observe([str(file)], gamma=gamma)


def test_rates_by_position_and_times_are_read(tmp_path: Path) -> None:
    seen = observed(tmp_path, EAGLE3)
    assert (seen.kind, seen.origin) == ("llama.cpp", "log")
    assert (seen.drafts, seen.drafted, seen.accepted) == (87, 259, 167)
    assert seen.by_position == (70, 55, 42)
    assert sum(seen.by_position) == 167
    assert seen.draft_seconds == pytest.approx(0.325555)
    assert seen.timed is not None
    assert seen.timed.tokens == 255
    assert seen.timed.seconds == pytest.approx(2.29672)
    assert seen.gamma == 3


def test_a_log_without_rates_tells_counts(tmp_path: Path) -> None:
    seen = observed(tmp_path, MTP, gamma=6)
    assert (seen.drafts, seen.drafted, seen.accepted, seen.hits) == (882, 5292, 2222, ())
    assert seen.block_efficiency == pytest.approx(1 + 2222 / 882)
    assert seen.timed is None


def test_the_last_line_of_each_way_counts(tmp_path: Path) -> None:
    later = MTP.replace("882", "900").replace("5292", "5400")
    seen = observed(tmp_path, MTP + later, gamma=6)
    assert (seen.drafts, seen.drafted) == (900, 5400)


def test_a_log_whose_drafts_were_never_judged_is_refused(tmp_path: Path) -> None:
    idle = MTP.replace("1    882    882", "1    0    0")
    with pytest.raises(ValueError, match=r"a log of llama.cpp must have lines '#calls\(b,g,a\)"):
        observed(tmp_path, idle)
