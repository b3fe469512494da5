"""docs/commands.md names every command, and every key that `plan` and `validate` print."""

import json
from dataclasses import fields
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from engines.trials.row import Row as EngineRow
from estimator.bild.row import BildRow
from estimator.validation.row import Row
from specplan.main import main

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


@pytest.mark.parametrize("row", [Row, EngineRow, BildRow])
def test_every_key_of_a_validation_is_explained(row: type) -> None:
    keys = [field.name for field in fields(row)]
    assert [key for key in keys if f"`{key}`" not in section("validate")] == []
