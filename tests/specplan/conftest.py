"""Shared by tests of the model commands: tiny models in folders, and how to run a command."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import simulator.traffic.sizing
import specplan.api.size_settings
import specplan.api.sized_replicas
import specplan.api.traffic
from simulator.traffic.fleet import Goal
from simulator.traffic.server import Doubt, doubt_of
from specplan.main import main
from tests.specplan import model_folders
from tests.specplan.programs import Run, overridden

folders = model_folders.folders


@pytest.fixture
def run(folders: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Returns a function that runs specplan in the folder of models, without a network."""
    monkeypatch.chdir(folders)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def invoke(*arguments: str, **settings: Any) -> Result:
        return CliRunner().invoke(main, overridden(arguments), **settings)

    return invoke


@pytest.fixture
def run_json(run: Run) -> Callable[..., Any]:
    """Returns a function that runs specplan with --json and returns the one object it printed."""

    def invoke(*arguments: str) -> Any:
        result = run(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout, parse_constant=_refuse)

    return invoke


def _refuse(constant: str) -> None:
    raise AssertionError(f"JSON must be finite, got {constant}")


@pytest.fixture
def small(folders: Path) -> list[str]:
    """Returns options of a run of the tiny pair that takes a moment."""
    return [
        *("--target", "target", "--draft", "draft", "--prompts", "prompts.txt"),
        *("--num-prompts", "2", "--max-new-tokens", "6"),
    ]


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has `size` and `traffic` count an eighth of their random draws, for tests of their text."""

    def some_draws(*known: Any) -> Doubt | None:
        drawn = doubt_of(*known)
        return None if drawn is None else Doubt(drawn.seconds[::8])

    for module in (specplan.api.sized_replicas, specplan.api.traffic):
        monkeypatch.setattr(module, "doubt_of", some_draws)


@pytest.fixture
def few_requests(few_draws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has `size` simulate a tenth of its requests, too."""
    monkeypatch.setattr(specplan.api.size_settings, "Goal", partial(Goal, requests=1000))
    monkeypatch.setattr(simulator.traffic.sizing, "_CHECKED", 10_000)
