"""`specplan generate --decoder beam` on a tiny pair."""

import pytest
from programs import Run, RunJson

ASKED = ("generate", "--target", "target", "--draft", "draft", "--prompt", "import sys, os")
BRIEF = ("--max-new-tokens", "8", "--decoder", "beam")


def test_wider_drafts_and_longer_ones_change_calls_alone(run_json: RunJson) -> None:
    results = [
        run_json(*ASKED, *BRIEF, "--beams", "2", "--draft-beams", wide, "--gamma", gamma)
        for wide, gamma in (("2", "1"), ("4", "3"), ("8", "5"))
    ]
    for result in results:
        assert set(result) == {"beams", "steps", "target_calls", "judged", "covered", "blocks"}
        assert [set(beam) for beam in result["beams"]] == [{"text", "tokens", "score"}] * 2
        assert result["steps"] == sum(block["steps"] for block in result["blocks"])
        assert result["covered"] <= result["judged"]
        assert result["target_calls"] == len(result["blocks"])
        assert [beam["tokens"] for beam in result["beams"]] == [
            beam["tokens"] for beam in results[0]["beams"]
        ]
    perfect = run_json(*ASKED[:3], "--draft", "target", *ASKED[5:], *BRIEF, "--beams", "2")
    for one, other in zip(perfect["beams"], results[0]["beams"], strict=True):
        assert one["tokens"] == other["tokens"]
        assert one["score"] == pytest.approx(other["score"], abs=1e-4)
    assert perfect["target_calls"] == -(-perfect["steps"] // 5)
    assert perfect["covered"] == perfect["judged"]


def test_text_has_a_line_a_beam_and_says_how_often_the_draft_sufficed(run: Run) -> None:
    result = run(*ASKED, *BRIEF, "--beams", "3")
    assert result.exit_code == 0, result.output
    assert len([line for line in result.stdout.splitlines() if line]) == 3
    assert "the draft's 6 beams held the target's 3 at" in " ".join(result.stderr.split())
