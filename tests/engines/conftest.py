"""Fixtures for tests of engines: llama.cpp with the embedded pair, whose files are written once."""

import pytest
from engine_pairs import embedded_llama_cpp

from engines.servers.llama_cpp import LlamaCpp


@pytest.fixture(scope="session")
def llama_cpp(tmp_path_factory: pytest.TempPathFactory) -> LlamaCpp:
    """Returns llama.cpp with the embedded pair."""
    return embedded_llama_cpp(tmp_path_factory.mktemp("gguf"))
