"""Users mistype, swap and pipe: each is named, or does what was meant."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from metrics_pages import LOG

from specplan.main import main

CONFIGS = Path(__file__).parents[2] / "docs" / "configs"
OLD_LOG = """build: 5318 (15e03282) with cc (GCC) 13.3.0
prompt eval time =     100.00 ms /    50 tokens
       eval time =    5833.00 ms /   455 tokens
draft acceptance rate = 0.61000 (  305 accepted /   500 generated)
"""


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
    assert empty.stderr.startswith(b"Error: -: must be a metrics page of ")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("measure --draft lokup", "lookup"),
        ("generate --draft egale3", "eagle3"),
        ("validate --draft lookup --draft sufix", "suffix"),
        ("plan --c 0.05 --typical eagle3-llama-3.1-8b-caht", "eagle3-llama-3.1-8b-chat"),
        ("figures leviathan-fg3", "leviathan-fig3"),
    ],
)
def test_a_mistyped_name_is_answered_by_the_nearest(words: str, meant: str) -> None:
    result = run(*words.split())
    assert result.exit_code == 2
    assert "did you mean" in result.stderr
    assert meant in result.stderr.partition("did you mean")[2]


def test_a_name_like_no_other_gets_no_suggestion() -> None:
    assert "did you mean" not in run("measure", "--draft", "nonsense").stderr


@pytest.mark.parametrize("draft", ["llama-3.1-8b", "llama-3.1-8b-eagle3"])
def test_a_head_as_the_target_is_refused_by_its_kind(draft: str) -> None:
    target = CONFIGS / "llama-3.1-8b-eagle3.json"
    words = f"--target-config {target} --draft-config {CONFIGS / draft}.json --gpu h100 --alpha 0.7"
    result = run("plan", *words.split())
    assert result.exit_code == 2
    assert "must be the configuration of a target, got one of EAGLE-3, a head" in result.stderr


@pytest.mark.parametrize(
    "words",
    ["--alpha 0.1 --c 0.5", "--run gamma=0,tpot=10 --run gamma=3,tpot=20,length=1.5"],
)
def test_an_export_of_no_draft_does_not_ask_for_its_kind(words: str) -> None:
    result = run("plan", *words.split(), "--export", "vllm")
    assert result.stdout == "# gamma is 0: run the target without a draft\n"
    assert result.stderr == ""


def test_an_old_build_gets_flags_by_their_former_names(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    log.write_text(OLD_LOG)
    words = ["observe", str(log), "--gamma", "8", "--run", "gamma=0,tps=60"]
    assert run(*words).stdout.startswith("llama.cpp b5318: 149 drafts")
    *comments, flags = run(*words, "--export", "llama.cpp").stdout.splitlines()
    assert flags == "--model-draft DRAFT --draft-max 2 --draft-p-min 0"
    # The drafts that were seen ended early: flags that end them later say so.
    assert comments[0].startswith("# The drafts seen ended early, as by a p-min")
    *_, new = run(*words, "--export", "vllm").stdout.splitlines()
    assert '"num_speculative_tokens": 2' in new
