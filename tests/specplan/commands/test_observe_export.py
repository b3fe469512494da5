"""`observe --export`: only the flags that set the advised K, as `plan` prints them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from metrics_pages import LOG, vllm_page
from refusals import assert_refused

from specplan.main import main

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def page(tmp_path: Path) -> str:
    """A server that drafted 3 tokens, 1,000 times."""
    path = tmp_path / "page"
    path.write_text(vllm_page(1000, (800, 640, 512)))
    return str(path)


@pytest.mark.parametrize(
    ("server", "kind", "flag"),
    [("vllm", "eagle3", '"method": "eagle3"'), ("vllm", "suffix", '"method": "suffix"'),
     ("sglang", "eagle3", "--speculative-algorithm EAGLE3"),
     ("llama.cpp", "draft-model", "--spec-draft-n-max")],
)  # fmt: skip
def test_only_the_flags_of_the_advised_gamma_are_printed(
    page: str, server: str, kind: str, flag: str
) -> None:
    asked = ["observe", page, "--c", "0.05", "--max-gamma", "3", "--export", server]
    asked += ["--draft-kind", kind]
    data = json.loads(run(*asked, "--json").stdout)
    lines = run(*asked).stdout.splitlines()
    assert lines == data["export"].splitlines()
    comments = [line for line in lines if line.startswith("# K =")]
    assert comments[0].startswith(f"# K = {data['plan']['advised_gamma']}: A gain is")
    assert not lines[-1].startswith("#")
    assert flag in lines[-1]
    # The flags of `plan` for the counts.
    rates = ["--acceptance-by-position", "0.8,0.64,0.512", "--c", "0.05", "--max-gamma", "3"]
    planned = run("plan", *rates, "--export", server, "--draft-kind", kind).stdout
    assert lines[-1] == planned.splitlines()[-1]


def test_flags_of_an_undecided_kind_are_comments(page: str) -> None:
    models = [f"--{role}-config={CONFIGS / name}.json" for role, name in
              (("target", "llama-3.1-8b"), ("draft", "llama-3.2-1b"))]  # fmt: skip
    asked = ["observe", page, *models, "--gpu", "h100", "--engine", "vllm"]
    plan = json.loads(run(*asked, "--json").stdout)["plan"]
    assert plan["advised_gamma"] == 0 < plan["test_gamma"]
    lines = run(*asked, "--export", "vllm").stdout.splitlines()
    assert lines[0].startswith("# Undecided: measure")
    assert all(line.startswith("# ") for line in lines)
    assert f'"num_speculative_tokens": {plan["test_gamma"]}' in lines[-1]


def test_an_export_and_a_profile_are_both_written(page: str, tmp_path: Path) -> None:
    asked = ["--c", "0.05", "--export", "vllm", "--draft-kind", "mtp"]
    result = run("observe", page, *asked, "-o", str(tmp_path / "profile.json"))
    assert (tmp_path / "profile.json").exists()
    assert result.stdout == run("observe", page, *asked).stdout


def test_an_export_without_a_plan_is_refused(page: str, tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text(LOG)
    assert_refused(run("observe", str(log), "--export", "vllm"), "--export needs a cost")
    assert_refused(
        run("observe", page, "--c", "0.05", "--export", "vllm", "--follow"),
        "--export cannot be given with --follow",
    )
