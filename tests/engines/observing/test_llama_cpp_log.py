"""Reads the lines about drafts in llama.cpp's log, as two of its builds print them."""

from typing import Any

import numpy as np
import pytest

from engines.counting import Timed
from engines.observing.llama_cpp import read_log

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


# As builds print it that log no statistics (pull request 24536 and servers before it). Passes
# behind the first token: 456 - 1 - 305 = 150.
ANSWER = """\
prompt eval time =     228.52 ms /    20 tokens (   11.43 ms per token,    87.52 tokens per second)
       eval time =    5846.15 ms /   456 tokens (   12.82 ms per token,    78.00 tokens per second)
      total time =    6074.67 ms /   476 tokens
"""
COUNTS = "= 0.61000 (  305 accepted /   500 generated)"
FORMS = {
    "rate": f"draft acceptance rate {COUNTS}\n",
    "bare": f"0.06.896.015 I slot print_timing: id  1 | task 0 | draft acceptance {COUNTS}\n",
    "mean": f"slot print_timing: id  1 | draft acceptance {COUNTS}, mean len =  3.03\n",
    "length": f"draft acceptance {COUNTS}, mean acceptance length =  3.03, acceptance rate per "
    "position = (0.800, 0.660, 0.573)\n",
}


# A server with checkpoints counts only drafts that were accepted whole in an answer's line.
CHECKPOINTS = (
    "draft acceptance rate = 1.00000 (  115 accepted /   115 generated)\n"
    "statistics draft: #calls(b,g,a) = 1 82 33, #gen drafts = 81, #acc drafts = 33, "
    "#gen tokens = 214, #acc tokens = 115, dur(b,g,a) = 0.001, 999.634, 0.005 ms\n"
)
FIRST_FORM = (
    "statistics ngram_simple: #calls = 99, #gen drafts = 40, #acc drafts = 21, "
    "#gen tokens = 160, #acc tokens = 50, dur = 1.250 ms\n"
)


@pytest.mark.parametrize(
    ("text", "gamma", "read"),
    [
        (EAGLE3, None, {
            "kind": "llama.cpp", "origin": "log", "drafts": 87, "drafted": 259, "accepted": 167,
            "by_position": (70, 55, 42), "draft_seconds": pytest.approx(0.325555), "gamma": 3,
            "timed": Timed(pytest.approx(2.29672), 255)}),
        # A log without rates.
        (MTP, 6, {"drafts": 882, "drafted": 5292, "accepted": 2222, "hits": (), "timed": None,
                  "block_efficiency": pytest.approx(1 + 2222 / 882)}),
        # The last line of each way counts.
        (MTP + MTP.replace("882", "900").replace("5292", "5400"), 6,
         {"drafts": 900, "drafted": 5400}),
        # Answers are summed, and statistics go before them.
        ((ANSWER + FORMS["rate"]) * 2, 8, {"drafts": 300, "drafted": 1000, "accepted": 610}),
        (ANSWER + CHECKPOINTS, 8, {"drafted": 214, "accepted": 115}),
        (FIRST_FORM, 4, {"drafts": 40, "drafted": 160, "accepted": 50}),
    ],
)  # fmt: skip
def test_counts_and_times_are_read(
    saved, text: str, gamma: int | None, read: dict[str, Any]
) -> None:
    found = saved(text, gamma=gamma)
    assert {name: getattr(found, name) for name in read} == read


def test_a_log_whose_drafts_were_never_judged_is_refused(saved) -> None:
    idle = MTP.replace("1    882    882", "1    0    0")
    with pytest.raises(ValueError, match=r"a log of llama.cpp must have lines 'draft acceptance"):
        saved(idle)


@pytest.mark.parametrize("form", FORMS)
def test_the_line_of_an_answer_is_read_in_every_form(saved, form: str) -> None:
    seen = saved(ANSWER + FORMS[form], gamma=8)
    assert (seen.drafted, seen.accepted, seen.drafts) == (500, 305, 150)
    assert seen.block_efficiency == pytest.approx(3.03, abs=0.01)
    assert seen.drafted_per_block == pytest.approx(3.33, abs=0.01)
    assert seen.by_position == ((120, 99, 86) if form == "length" else ())
    assert seen.calls_error == 0
    assert any("0.75 by default" in note for note in seen.notes) == (form == "rate")
    assert seen.timed is not None
    assert seen.timed.tokens == 455


def test_where_calls_are_not_counted_their_number_is_in_doubt(saved) -> None:
    seen = saved(FORMS["rate"], gamma=8)
    # Between 500 / 8 and 500 blocks: 177 in the middle of their logarithms.
    assert seen.drafts == 177
    assert seen.calls_error == pytest.approx(2.0794 / 12**0.5, abs=1e-3)
    (mean,), ((variance,),) = seen.acceptance().log_lengths([8])
    assert float(np.exp(mean)) == pytest.approx(2.72, abs=0.05)
    low, high = (float(np.exp(mean + side * 2 * variance**0.5)) for side in (-1, 1))
    assert low < 1.2 * 1.61
    assert high > 0.8 * 5.88
    with pytest.raises(ValueError, match="`gamma` must be given where a log does not count calls"):
        saved(FORMS["rate"])


def test_a_log_is_read_in_blocks_that_part_a_time_from_its_counts() -> None:
    seen = read_log(iter([ANSWER, FORMS["bare"]]), 8)
    assert (seen.drafts, seen.accepted) == (150, 305)
