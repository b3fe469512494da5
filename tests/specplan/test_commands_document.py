"""docs/commands.md names every command, and every key of plans, profiles, observations, rows."""

import json
from dataclasses import fields
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from engines.trials.validation import EngineRow
from estimator.profiles.profile import LoadCosts, Workload
from estimator.profiles.profile_file import profile_json
from estimator.validation.file import SpeculativeRow, ValidationRow
from specplan.main import main
from studies.bild.swept import BildRow
from tests.engines.metrics_pages import vllm_page
from tests.specplan.plan_inputs import PROFILE

DOCUMENT = Path(__file__).parents[2] / "docs" / "commands.md"


def section(command: str) -> str:
    text = DOCUMENT.read_text(encoding="utf-8")
    return text.partition(f"## specplan {command}\n")[2].partition("\n## ")[0]


def commands() -> list[str]:
    context = click.Context(main)
    return main.list_commands(context)


@pytest.mark.parametrize("command", commands())
def test_every_command_has_a_section(command: str) -> None:
    assert f"specplan {command}" in section(command)


def test_every_key_of_a_plan_is_explained() -> None:
    result = CliRunner().invoke(main, ["plan", "--alpha", "0.8", "--c", "0.05", "--json"])
    unexplained = [key for key in json.loads(result.stdout) if f"`{key}`" not in section("plan")]
    assert unexplained == []


def test_every_key_of_an_observation_is_explained(tmp_path: Path) -> None:
    page = tmp_path / "page"
    page.write_text(vllm_page(100, (60, 30)))
    result = CliRunner().invoke(main, ["observe", str(page), "--c", "0.05", "--json"])
    keys = json.loads(result.stdout)
    assert "plan" in keys
    assert [key for key in keys if f"`{key}`" not in section("observe")] == []


@pytest.mark.parametrize("row", [SpeculativeRow, BildRow, EngineRow])
def test_every_key_of_a_validation_is_explained(row: type[ValidationRow]) -> None:
    keys = [*row.__struct_fields__, *row.derived]
    assert [key for key in keys if f"`{key}`" not in section("validate")] == []


def test_every_key_of_a_profile_is_explained() -> None:
    parts = [field.name for record in (Workload, LoadCosts) for field in fields(record)]
    keys = [*profile_json(PROFILE), *parts]
    assert [key for key in keys if f"`{key}`" not in section("measure")] == []
