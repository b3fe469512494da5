"""Users mistype, swap and pipe: each is named, or does what was meant."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from specplan.main import main
from tests.engines.metrics_pages import LOG


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def piped(content: bytes) -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-m", "specplan", "observe", "-", "--c", "0.05", "--json"]
    return subprocess.run(words, input=content, capture_output=True)


def test_a_dash_is_read_from_stdin_as_a_file_is(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text(LOG)
    read = run("observe", str(log), "--c", "0.05", "--json").stdout_bytes
    assert piped(LOG.encode()).stdout == read
    assert piped(gzip.compress(LOG.encode())).stdout == read


def test_two_dashes_and_an_empty_stdin_are_refused() -> None:
    assert "- (stdin) must be given once, got 2" in run("observe", "-", "-").stderr
    empty = piped(b"")
    assert (empty.returncode, empty.stdout) == (2, b"")
    assert empty.stderr == b"Error: -: is empty\n"


def test_a_name_like_no_other_gets_no_suggestion() -> None:
    assert "did you mean" not in run("measure", "--draft", "nonsense").stderr


@pytest.mark.parametrize(
    "words",
    ["--alpha 0.1 --c 0.5", "--run gamma=0,tpot=10 --run gamma=3,tpot=20,length=1.5"],
)
def test_an_export_of_no_draft_does_not_ask_for_its_kind(words: str) -> None:
    result = run("plan", *words.split(), "--export", "vllm")
    assert result.stdout == "# gamma is 0: run the target without a draft\n"
    assert result.stderr == ""
