"""Printed metrics of OpenVINO GenAI: counts and times of its sample of speculative decoding."""

from pathlib import Path

import pytest

from engines.sources import observe

# Written by OpenVINO GenAI 2026.4.1 with the embedded pair, 3 assistant tokens and 48 new tokens;
# the text's blocks had 1, 2, 3, 1, 2, ... tokens, 30 with the pass over the prompt.
PRINTED = """\
the generated text, as it was streamed
MAIN MODEL
  Generate time: 677.98 ms
  TTFT: 235.54 ± 0.00 ms
  TTST: 34.78 ± 0.00 ms/token
  TPOT: 8.28 ± 10.46 ms/iteration
  AVG Latency: 14.56 ± 36.61 ms/token
  Num generated token: 48 tokens
  Total iteration number: 30
  Num accepted token: 16 tokens
DRAFT MODEL
  Generate time: 331.27 ms
  TTFT: 36.81 ms
  TTST: 13.36 ms/token
  TPOT: 3.17 ± 2.97 ms/token
  AVG Latency: 3.35 ± 3.13 ms/iteration
  Num generated token: 91 tokens
  Total iteration number: 86

"""


def test_printed_metrics_give_all_blocks_and_the_time_of_a_token(tmp_path: Path) -> None:
    path = tmp_path / "printed.txt"
    path.write_text(PRINTED)
    seen = observe([str(path)], gamma=3)
    # The last block accepted two tokens, which the printed 16 lack.
    assert (seen.kind, seen.drafts, seen.accepted) == ("openvino", 29, 18)
    assert seen.block_efficiency == pytest.approx(47 / 29)
    assert seen.timed is not None
    assert seen.timed.seconds_per_token == pytest.approx((0.67798 - 0.23554) / 47)
    assert "omits the last block" in seen.notes[0]
    path.write_text(2 * PRINTED)
    assert observe([str(path)], gamma=3).drafts == 58


def test_printed_metrics_need_a_draft_length_and_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "printed.txt"
    path.write_text(PRINTED)
    with pytest.raises(ValueError, match="gamma must be given with OpenVINO GenAI's metrics"):
        observe([str(path)], gamma=None)
    path.write_text(PRINTED[PRINTED.index("  Num generated") :])
    with pytest.raises(ValueError, match="must have the lines of MAIN MODEL"):
        observe([str(path)], gamma=3)
