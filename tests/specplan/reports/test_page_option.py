"""`--page` and `--plot`: the answer of a command as a page and as a picture, with its command."""

import html
import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner, Result

from estimator.profiles.profile_file import write_profile
from specplan.main import main
from specplan.options.answer import Pictured, answer, stated_command
from tests.specplan.made_profiles import made_profile

pytestmark = pytest.mark.usefixtures("few_requests")

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
LLAMA = (
    f"--target-config {CONFIGS}/llama-3.1-8b.json --draft-config {CONFIGS}/llama-3.2-1b.json "
    "--alpha 0.7"
)
COMMANDS = {
    "plan": "plan --run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,length=2.85",
    "batches": f"plan {LLAMA} --gpu h100 --batch 1,8,64",
    "gpus": f"plan {LLAMA} --gpu h100,a100",
    "traffic": f"traffic {LLAMA} --gpu h100 --rate 1,20 --prompt-tokens 500 --output-tokens 200 "
    "--gamma 4 --slo tpot=20",
    "size": "size --rate 10 --prompt-tokens 500 --output-tokens 200 --slo ttft=500,tpot=12 "
    f"--target-config {CONFIGS}/llama-3.1-8b.json --draft config={CONFIGS}/llama-3.2-1b.json,"
    "alpha=0.7,name=small --gpu h100 --gpus-per-replica 1 --max-gamma 3",
    "tree": "tree --acceptance-by-rank 0.7,0.1 --c 0.05 --max-nodes 8",
    "compare": "compare a.json b.json",
}
STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def run(words: str) -> Result:
    return CliRunner().invoke(main, words.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with two profiles, and what commands wrote there in earlier tests."""
    folder = tmp_path_factory.mktemp("pages")
    write_profile(made_profile("embedded", alpha=0.8, c=0.1), folder / "a.json")
    write_profile(made_profile("lookup", alpha=0.5, c=0.01), folder / "b.json")
    return folder


def written(name: str, folder: Path) -> tuple[str, Any]:
    """Returns a command's page and its JSON object; each is run once and draws a picture, too."""
    page, file = folder / f"{name}.html", folder / f"{name}.json"
    if not page.exists():
        suffix = list(STARTS)[list(COMMANDS).index(name) % 3]
        output = "" if name == "tree" else f" --json -o {file.name}"
        made = run(f"{COMMANDS[name]} --page {page.name} --plot {name}{suffix}{output}")
        assert made.exit_code == 0, made.output
        assert (folder / f"{name}{suffix}").read_bytes().startswith(STARTS[suffix])
    data = json.loads(file.read_text()) if file.exists() else None
    return html.unescape(page.read_text(encoding="utf-8")), data


def test_a_picture_without_a_page_computes_no_sliders(tmp_path: Path) -> None:
    plan = json.loads(run(f"{COMMANDS['plan']} --json").stdout)
    plot, further = tmp_path / "a.svg", Mock(return_value={})
    answer(lambda: plan, str, form=Pictured(plot=plot), further=further)
    assert plot.read_bytes().startswith(b"<?xml")
    further.assert_not_called()
    answer(lambda: plan, str, form=Pictured(page=tmp_path / "a.html"), further=further)
    further.assert_called_once()


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_writes_its_page_and_its_picture(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    text, data = written(name, folder)
    assert f"<pre>specplan {COMMANDS[name]}</pre>" in text
    assert f"-o {name}.json" not in text
    assert name == "tree" or data["command"] == f"specplan {COMMANDS[name]}"


def test_traffic_stands_under_its_models_and_keeps_targets_and_odds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    written("traffic", folder)
    assert run("report traffic.json -o page.html").exit_code == 0
    text = html.unescape((folder / "page.html").read_text(encoding="utf-8"))
    assert "Traffic: llama-3.1-8b drafted by llama-3.2-1b" in text
    assert "(a gain is " in text
    assert '"levels": [{"label": "target", "y": 20.0}]' in text


def test_a_size_stands_with_its_sentence_speeds_and_flags(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    _, size = written("size", folder)
    assert run("report size.json -o page.html").exit_code == 0
    text = html.unescape((folder / "page.html").read_text(encoding="utf-8"))
    assert f'class="headline">{size["sentence"]}<' in text
    assert "How many GPUs: llama-3.1-8b drafted by small" in text
    *comments, last = size["flags"]["vllm"].splitlines()
    assert f"\n{last}</pre>" in text
    assert comments
    assert all(f'<span class="comment">{line}</span>\n' in text for line in comments)
    drawn = [point for part in size["pareto"] for point in (part["tokens_per_second_per_user"],)]
    assert all(f'"x": {user}' in text for user in drawn)
    assert f"<td>{size['best']['gpu']}</td><td>{size['best']['replicas']}</td>" in text


def test_no_deployment_is_a_page_without_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    none = COMMANDS["size"].replace("tpot=12", "tpot=0.1")
    made = run(f"{none} --page page.html -o size.json")
    assert made.exit_code == 0, made.output
    text = html.unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert 'class="headline">No deployment keeps TTFT 500 ms and TPOT 0.1 ms' in text
    assert "The flags that set it" not in text


def test_the_command_names_no_password() -> None:
    with click.Context(click.Command("observe"), info_name="observe") as ctx:
        words = "http://me:secret@host:8000 --json --page=a.html -o a.json --c 0.1"
        ctx.meta["specplan.words"] = words.split()
        assert stated_command() == "specplan observe http://host:8000 --c 0.1"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("plan --alpha 0.8 --c 0.1 --page a.txt", "must end in .html, got a.txt"),
        ("plan --alpha 0.8 --c 0.1 --plot a.gif", "must end in .png or .svg or .pdf, got a.gif"),
        ("plan --alpha 0.8 --c 0.1 --page no/a.html", "folder no does not exist"),
    ],
)
def test_files_that_cannot_be_written_are_refused_first(words: str, message: str) -> None:
    made = run(words)
    assert made.exit_code == 2
    assert message in made.output
