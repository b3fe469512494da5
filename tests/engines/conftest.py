"""Fixtures for tests of engines: llama.cpp with the embedded pair, whose files are written once."""

import pytest

from engines.servers.llama_cpp import LlamaCpp
from tests.engines.engine_pairs import embedded_llama_cpp


@pytest.fixture(scope="session")
def llama_cpp(tmp_path_factory: pytest.TempPathFactory) -> LlamaCpp:
    """Returns llama.cpp with the embedded pair."""
    return embedded_llama_cpp(tmp_path_factory.mktemp("gguf"))
