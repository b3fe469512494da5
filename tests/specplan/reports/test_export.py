"""The flags that set a planned gamma in other programs."""

import json
import shlex
from types import SimpleNamespace

import pytest

from specplan.reports.export import EXPORTS, export


def test_vllm_reads_its_own_json_back() -> None:
    flag, value = shlex.split(export("vllm", gamma=4, draft="Qwen/Qwen3-0.6B"))
    assert flag == "--speculative-config"
    assert json.loads(value) == {
        "method": "draft_model",
        "model": "Qwen/Qwen3-0.6B",
        "num_speculative_tokens": 4,
    }


def test_transformers_gets_a_constant_schedule_that_never_stops_early() -> None:
    draft = SimpleNamespace(generation_config=SimpleNamespace())
    exec(export("transformers", gamma=4, draft="unused"), {"draft": draft})
    assert vars(draft.generation_config) == {
        "num_assistant_tokens": 4,
        "num_assistant_tokens_schedule": "constant",
        "assistant_confidence_threshold": 0,
    }


def test_transformers_still_has_the_settings() -> None:
    from transformers import GenerationConfig

    draft = SimpleNamespace(generation_config=GenerationConfig())
    known = set(vars(draft.generation_config))
    exec(export("transformers", gamma=4, draft="unused"), {"draft": draft})
    assert set(vars(draft.generation_config)) == known


def test_llama_cpp_is_told_to_draft_however_unsure() -> None:
    assert shlex.split(export("llama.cpp", gamma=4, draft="my draft.gguf")) == [
        "--spec-type", "draft-simple", "--model-draft", "my draft.gguf",
        "--spec-draft-n-max", "4", "--spec-draft-p-min", "0",
    ]  # fmt: skip


def test_sglang_verifies_one_token_more_than_it_drafts() -> None:
    words = shlex.split(export("sglang", gamma=4, draft="D"))
    assert dict(zip(words[::2], words[1::2], strict=True)) == {
        "--speculative-algorithm": "STANDALONE",
        "--speculative-draft-model-path": "D",
        "--speculative-num-steps": "4",
        "--speculative-eagle-topk": "1",
        "--speculative-num-draft-tokens": "5",
    }


@pytest.mark.parametrize("server", EXPORTS)
def test_gamma_zero_exports_no_flag(server: str) -> None:
    assert export(server, gamma=0, draft="D").startswith("# gamma is 0")
