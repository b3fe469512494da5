"""Kinds of engines register themselves, and knowing them costs nothing."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from engines.kind import EngineKind, engine_kinds, exports_of

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_to_know_the_kinds_imports_nothing_heavy() -> None:
    program = "import sys; from engines.kind import engine_kinds as k; k(); print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    heavy = {"torch", "numpy", "scipy", "transformers", "gguf", "prometheus_client"}
    assert not heavy & set(run.stdout.split())


@pytest.mark.parametrize("kind", engine_kinds().values(), ids=lambda kind: kind.name)
def test_a_kind_is_known_by_its_name_and_is_good_for_something(kind: EngineKind) -> None:
    assert engine_kinds()[kind.name] is kind
    assert kind.start is not None or kind.exports is not None or kind.prints
    assert kind.start is None or kind.draft_samplings


def test_an_engine_that_nothing_is_known_of_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"must be one of llama\.cpp, mlx, .*sglang, .*, got ollama"
    ):
        exports_of("ollama")


def test_imports_of_observe_are_in_the_plain_installation() -> None:
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    assert any(dependency.startswith("prometheus-client") for dependency in project["dependencies"])
