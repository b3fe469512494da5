"""`--compile` of measure, validate and generate; no program is made machine code.

Steps of generate are traced; elsewhere substitutes replace them.
"""

from typing import Any

import pytest
import torch
from programs import Run, RunJson

from reference.models.compiled_model import CompiledModel


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[int, ...]]]:
    """Returns what was compiled: names and widths."""
    found: list[tuple[str, tuple[int, ...]]] = []
    whole = CompiledModel.__init__

    def traced(self: CompiledModel, model: Any, **given: Any) -> None:
        found.append((model.name, tuple(given["widths"])))
        whole(self, model, **given, backend="eager")

    monkeypatch.setattr(CompiledModel, "__init__", traced)
    return found


@pytest.fixture
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda step, **_: step)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        def step(*_: Any) -> Any:
            raise RuntimeError("no compiler here")

        return step

    monkeypatch.setattr(torch, "compile", fail)


@pytest.mark.usefixtures("untraced")
def test_validate_runs_compiled_and_greedy_text_stays_the_targets(
    run_json: RunJson, small: list[str], made: list[tuple[str, tuple[int, ...]]]
) -> None:
    command = ["validate", *small, "--gamma", "2", "--repeats", "1", "--temperature", "0"]
    compiled = run_json(*command, "--compile")
    assert made == [("draft", (1, 2)), ("target", (1, 3))]
    plain = run_json(*command)
    assert len(made) == 2
    [row], [own] = compiled["rows"], plain["rows"]
    assert row["identical_to_target"]
    assert row["target_calls"] == own["target_calls"]
    assert row["tokens"] == own["tokens"]


@pytest.mark.usefixtures("untraced")
def test_measure_says_that_it_ran_compiled(
    run_json: RunJson, small: list[str], made: list[tuple[str, tuple[int, ...]]]
) -> None:
    command = ["measure", *small, "--max-gamma", "2", "--repeats", "1"]
    compiled, plain = run_json(*command, "--compile", "on"), run_json(*command)
    assert made == [("draft", (1, 2)), ("target", (1, 2, 3))]
    assert (compiled["setup"]["flags"], plain["setup"]["flags"]) == (["--compile on"], [])
    assert compiled["alpha"]["value"] == pytest.approx(plain["alpha"]["value"], abs=1e-4)


def test_generate_gives_the_same_text(
    run: Run, small: list[str], made: list[tuple[str, tuple[int, ...]]]
) -> None:
    pair = [*small[:2], "--draft", "lookup"]
    command = ["generate", *pair, "--gamma", "2", "--temperature", "0", "--prompt", "def f():"]
    assert run(*command, "--compile").stdout == run(*command).stdout
    assert made == [("target", (1, 3))]


@pytest.mark.usefixtures("broken")
def test_a_compile_that_fails_says_so_and_goes_on_only_if_asked(run: Run, small: list[str]) -> None:
    command = ["measure", *small, "--max-gamma", "1", "--repeats", "1"]
    refused = run(*command, "--compile")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == (
        "Error: compiling draft failed: RuntimeError: no compiler here; --compile try goes on "
        "without\n"
    )
    tried = run(*command, "--compile", "try")
    assert tried.exit_code == 0, tried.output
    assert " ".join(tried.stderr.split()).count("it runs uncompiled") == 2
