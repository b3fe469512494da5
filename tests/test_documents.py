"""README and docs: each command that they show runs, and prints what they show."""

import json
import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import click
import pytest
import yaml
from click.testing import CliRunner
from documented import ELLIPSIS, ROOT, Example, examples, pages

from estimator.profiles.profile import LoadCosts, Profile
from estimator.profiles.profile_file import write_profile
from specplan.main import main
from specplan.options.command import fill
from tests.engines.metrics_pages import BENCH, vllm_page
from tests.specplan.made_profiles import made_profile, made_validation
from tests.specplan.plan_inputs import PROFILE

EVERY = [each for page in pages() for each in examples(page)]
COMMANDS = {each.command: each for each in EVERY if each.words()[:1] == ["specplan"]}.values()
PRINTED = [each for each in EVERY if each.shown]
PROGRAMS = [each for each in EVERY if each.words()[:1] in (["python"], ["make"])]
LOG = (
    "SpecDecoding metrics: Mean acceptance length: 2.85, Accepted: 370 tokens, "
    "Drafted: 600 tokens, Per-position acceptance rate: 0.820, 0.610, 0.420, "
    "Avg Draft acceptance rate: 61.7%\n"
)
ARPA = "\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-0.1\t</s>\n\n\\end\\\n"


def named(each: Example) -> str:
    return f"{each.page}: {each.command}"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the files that the pages speak of, made up."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "docs").symlink_to(ROOT / "docs")
    for name, draft in (("small", "D"), ("tiny", "E"), ("a", "D"), ("b", "D")):
        write_profile(made_profile(draft, alpha=0.7, c=0.1), folder / f"{name}.json")
    write_profile(complete(), folder / "profile.json")
    (folder / "validation.json").write_text(json.dumps(made_validation("D")))
    planned = CliRunner().invoke(main, ["plan", "--alpha", "0.7", "--c", "0.1", "--json"])
    (folder / "plan.json").write_text(planned.stdout)
    for name in ("traffic", "small-traffic", "eagle-traffic"):
        words = (
            "traffic --rate 1 --prompt-tokens 9 --output-tokens 50 --prompt-ms 20 --alpha 0.7 "
            f"--target-ms 10 --draft-ms 1 -o {folder / name}.json"
        )
        assert CliRunner().invoke(main, words.split()).exit_code == 0
    tuning = (
        "tune --num-prompts 2 --prompt-tokens 8 --max-new-tokens 12 --repeats 1 --max-gamma 2 "
        f"--max-runs 1 -o {folder / 'tuned.json'}"
    )
    assert CliRunner().invoke(main, tuning.split()).exit_code == 0
    observed = f"observe {folder / 'vllm.log'} -o {folder / 'observed.json'}"
    (folder / "vllm.log").write_text(LOG)
    assert CliRunner().invoke(main, observed.split()).exit_code == 0
    for name in ("model.arpa", "4gram.arpa", *(f"{order}-gram.arpa" for order in range(1, 5))):
        (folder / name).write_text(ARPA)
    pairs = {"T": "llama-3.1-8b", "D": "llama-3.2-1b", "smaller": "llama-3.2-1b"}
    pairs |= {"build/spelling/larger": "llama-3.1-8b", "build/spelling/smaller": "llama-3.2-1b"}
    for name, model in pairs.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").symlink_to(ROOT / "docs" / "configs" / f"{model}.json")
        (folder / name / "model.safetensors").touch()  # what makes it a folder of a model
    for name in ("heads/heads.json", "FOLDER/config.json", "src/a.py"):
        (folder / name).parent.mkdir()
        (folder / name).touch()
    (folder / "day.csv").write_text("time,prompt_tokens,output_tokens\n0,300,50\n1,400,80\n")
    (folder / "k3.json").write_text(BENCH)
    (folder / "off.json").write_text(BENCH.replace("spec_decode", "decode"))
    (folder / "before.prom").write_text(vllm_page(100, (60, 30)))
    (folder / "after.prom").write_text(vllm_page(200, (120, 60)))
    for name in ("my.jsonl", "calibration.jsonl", "prompts.jsonl", "prompts.txt", "held-out.txt"):
        (folder / name).write_text('"def f(n):"\n')
    for name in ("build/spelling/prompts.jsonl", "Spec-Bench/data/spec_bench/question.jsonl"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('"def f(n):"\n')
    return folder


def complete() -> Profile:
    """Returns a profile with all that plans and trees read."""
    sampled = replace(PROFILE.draftings["sampled"], acceptance_by_rank=(0.6, 0.15, 0.07))
    loads = tuple(
        LoadCosts(
            batch=batch, context=1024, target_ms={1: 10.0, 3: 12.0}, draft_ms=1.2,
            drafting_ms={1: 1.2}, spread_percent=1.0,
        )
        for batch in (1, 4, 8, 16, 32, 64)
    )  # fmt: skip
    return replace(PROFILE, draftings={**PROFILE.draftings, "sampled": sampled}, load=loads)


@pytest.mark.parametrize("each", PRINTED, ids=named)
def test_a_command_prints_its_shown_output(
    each: Example, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk)
    result = CliRunner().invoke(main, each.words()[1:])
    assert result.exit_code == 0, result.stderr
    printed = [line.rstrip() for line in result.stdout.rstrip("\n").split("\n")]
    shown = "\n".join(line.rstrip() for line in each.shown).strip("\n")
    parts = [part.strip("\n") for part in re.split(rf"(?m)^{ELLIPSIS}$", shown)]
    pattern = r"(?:(?:.*\n)*.*)".join(re.escape(part) for part in parts)
    assert re.fullmatch(pattern, "\n".join(printed)), "\n".join(printed)


@pytest.mark.parametrize("each", [each for each in COMMANDS if not each.shown], ids=named)
def test_a_command_runs(each: Example, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)
    # Commands are imported late.
    main.get_command(click.Context(main), (*each.words(), "")[1])
    for name, module in list(sys.modules.items()):
        if name.startswith("specplan.") and getattr(module, "fill", None) is fill:
            monkeypatch.setattr(module, "fill", filled_only)
    # A named data set may be anywhere.
    monkeypatch.setattr("estimator.prompts.prompts.require_dataset", lambda name: None)
    # The output of a simulation of a hundred thousand requests is not shown.
    words = ["1000" if word == "100000" else word for word in each.words()[1:]]
    if (
        "train" in words and "-o" in words
    ):  # its folder, which another command reads, must not exist yet
        words[words.index("-o") + 1] += "-made"
    if any(word.startswith("http://") for word in words):
        parsed(words)
        return
    result = CliRunner().invoke(main, words)
    known = each.inline and "No such" not in result.output
    assert result.exit_code == 0 or known, result.output


def filled_only(*arguments: Any, **way: Any) -> NoReturn:
    """Reads the options of a command, and ends it before it runs."""
    fill(*arguments, **way)
    raise click.exceptions.Exit(0)


def parsed(words: list[str]) -> None:
    """Reads the options of a command that asks a server which is not there."""
    command = main.get_command(click.Context(main), words[0])
    assert command is not None
    command.make_context(words[0], words[1:])


@pytest.mark.parametrize("each", PROGRAMS, ids=named)
def test_a_program_of_the_repository_is_there(each: Example) -> None:
    program, *words = each.words()
    if program == "make":
        assert f"\n{words[0]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    elif words[0] not in ("-m", "-c"):
        assert (ROOT / words[0]).is_file()


def test_the_pages_show_commands_and_outputs() -> None:
    assert len(PRINTED) > 10
    assert len(COMMANDS) > 100


@pytest.mark.parametrize("server", ["vllm", "sglang", "llama.cpp"])
def test_the_servers_flags_on_the_page_of_planning_are_the_exported_ones(server: str) -> None:
    words = ["plan", "--alpha", "0.8", "--c", "0.05", "--gamma", "4", "--export", server]
    words += ["--draft-kind", "draft-model"]
    page = ROOT / "docs" / "planning.md"
    assert CliRunner().invoke(main, words).stdout.strip() in page.read_text(encoding="utf-8")


LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    files = [link for link in links if "://" not in link]
    assert [link for link in files if not (page.parent / link).exists()] == []


FORMS = sorted((ROOT / ".github").glob("*/*.yml"))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_github_files_are_of_this_repository(path: Path) -> None:
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.parent.name == "workflows":
        run = [step.get("run", "") for job in read["jobs"].values() for step in job["steps"]]
        targets = {word for line in run for word in re.findall(r"make (\w+)", line)}
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert [each for each in targets if f"\n{each}:" not in makefile] == []
    elif path.name != "config.yml":
        assert {"name", "description", "body"} <= set(read)
        assert all({"type", "attributes"} <= set(part) for part in read["body"])


def test_the_citation_is_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (cited["title"], cited["version"], cited["license"]) == (
        project["name"], project["version"], project["license"],
    )  # fmt: skip


def test_files_that_pages_name_exist() -> None:
    """A path in backticks below a package, the scripts or the tests; `figures/output` is drawn."""
    path = re.compile(
        r"`((?:reference|ngram|studies|figures|estimator|simulator|engines|specplan|scripts|tests)"
        r"/[\w/.-]+\.(?:py|json|md)|(?:reference|ngram|studies|estimator|simulator)/[\w/]+/)`"
    )
    named_by_page = {
        (page.name, name) for page in pages() for name in path.findall(page.read_text("utf-8"))
    }
    assert len(named_by_page) > 50
    assert not {each for each in named_by_page if not (ROOT / each[1]).exists()}
