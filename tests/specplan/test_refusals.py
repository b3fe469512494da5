"""Command lines with what they print (`said/`), or why they are refused in a line (`refused/`)."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file, save_file

from estimator.profiles.parts import TextSettings
from estimator.profiles.profile_file import write_profile
from specplan.main import main
from tests.engines.metrics_pages import ANSWER, BENCH, LOG, SGLANG_BENCH, sglang_page, vllm_page
from tests.specplan.made_profiles import made_profile, made_validation
from tests.specplan.plan_inputs import LLAMA, PROFILE
from tests.specplan.refusals import assert_refused, assert_said, refused, said

LOADED = (
    "srv load_model: loading model '/m/qwen2.5-14b-q4_k_m.gguf'\n"
    "srv load_model: loading draft model '/m/qwen2.5-0.5b-q8_0.gguf'\n"
    "draft acceptance rate = 0.61000 (  305 accepted /   500 generated), mean len = 5.88\n"
)
STARTED = (
    "INFO 04-17 23:05:00 [core.py:61] Initializing a V1 LLM engine (v0.11.0) with config: "
    "model='Qwen/Qwen2.5-14B', speculative_config=SpeculativeConfig(method='{method}', "
    "model='{draft}', num_spec_tokens=3), tokenizer='Qwen/Qwen2.5-14B'\n"
    "INFO 11-21 22:42:26 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: 2.85, "
    "Accepted: 1850 tokens, Drafted: 3000 tokens, Per-position acceptance rate: 0.820, 0.610, "
    "0.420, Avg Draft acceptance rate: 61.7%\n"
)
EARLY = (
    "       eval time =    5846.15 ms /   456 tokens (   12.82 ms per token)\n"
    "draft acceptance rate = 0.61000 (  305 accepted /   500 generated)\n"
)
CHEAP = ("plan", "tree", "traffic", "observe", "reports")
TRACE = "time,prompt_tokens,output_tokens\n"
FILES = {
    # Results of benches, with and without drafts, times and counts.
    "vllm.json": BENCH,
    "off.json": BENCH.replace("spec_decode", "decode"),
    "sglang.json": SGLANG_BENCH,
    "llama.json": ANSWER,
    "untimed.json": BENCH.replace("_tpot_", "_ttft_"),
    "silent.json": BENCH.replace("200", "0").replace("600", "0").replace("0.6, 0.3, 0.1", "0, 0"),
    # Counts of servers, with the models' names and without.
    "two": vllm_page(1000, (700, 500)),
    "qwen.log": LOADED,
    "qwen-7b.log": LOADED.replace("0.5b", "7b"),
    "vllm-model.log": STARTED.format(method="draft_model", draft="Qwen/Qwen2.5-0.5B"),
    "vllm-head.log": STARTED.format(method="eagle3", draft="A/Qwen2.5-0.5B-head"),
    "early.log": EARLY,
    "old.log": (
        "build: 5318 (15e03282) with cc (GCC) 13.3.0\n"
        "prompt eval time =     100.00 ms /    50 tokens\n"
        "       eval time =    5833.00 ms /   455 tokens\n"
        "draft acceptance rate = 0.61000 (  305 accepted /   500 generated)\n"
    ),
    "qwen.json": BENCH.replace('"M"', '"Qwen/Qwen2.5-14B"').replace("5.0", "9.5"),
    "page": vllm_page(9, (4,)),
    "log": LOG,
    "other": sglang_page(calls=9, generated=20, requests=1),
    # Requests.
    "trace.csv": f"{TRACE}0,5,5\n1,5,5\n",
    "trace-empty.csv": TRACE,
    "trace-back.csv": f"{TRACE}5,9,9\n4,9,9\n",
    "trace-below.csv": f"{TRACE}0,-9,9\n1,9,9\n",
    "trace-short.csv": f"{TRACE}7,9,9\n",
    # No profiles and no reports.
    "text": "no JSON",
    "nothing.json": "",
    "list.json": "[]",
    "empty.json": "{}",
    "first.json": '{"schema": "specplan-profile", "version": 1}',
    "damaged.json": '{"schema": "specplan-profile", "version": 2}',
    "a.json": '{"a": 1}',
    "rowless.json": '{"rows": []}',
    "unmeasurable.json": '{"rows": [{"draft": "d", "temperature": 0, "measured": 1, "tokens": 1}]}',
}
CONFIGS: dict[str, dict[str, Any]] = {
    "target.json": {},
    "draft.json": {"num_hidden_layers": 2},
    "config-unknown.json": {"hidden_size": None},
    "config-negative.json": {"num_hidden_layers": -1},
    "config-formatless.json": {"torch_dtype": None, "dtype": None},
    "config-nameless.json": {"model_type": None},
    "config-vision.json": {"model_type": "siglip_vision_model"},
    "head-named.json": {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1},
    "head.json": {"num_hidden_layers": 1, "draft_vocab_size": 32000},
    "other-words.json": {"vocab_size": 1000},
    "config-narrow.json": {"draft_vocab_size": 500, "hidden_size": 64},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder of FILES, CONFIGS, profiles and validations."""
    folder = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "bytes").write_bytes(b"\xff\xfe\x00")
    for name, changes in CONFIGS.items():
        (folder / name).write_text(json.dumps(LLAMA | changes), encoding="utf-8")
    made = made_profile("d", alpha=0.7, c=0.1)
    for name, profile in {
        "profile": PROFILE,
        "costless": replace(PROFILE, times=None),
        "made": made,
        "elsewhere": replace(made, setup=replace(made.setup, texts=TextSettings("ffff"))),
        "bare": replace(made, left_out=None),
    }.items():
        write_profile(profile, folder / f"{name}.json")
    old = {**json.loads((folder / "made.json").read_text()), "version": 1}
    (folder / "old.json").write_text(json.dumps(old))
    validations: dict[str, dict[str, Any]] = {
        "validation": {},
        "of-engine": {"measured_left_out": ()},
        "apart": {"gamma": 100},
    }
    for name, changes in validations.items():
        rows = [row | changes for row in made_validation("d")["rows"]]
        (folder / f"{name}.json").write_text(json.dumps({"rows": rows, "summary": {}}))
    return folder


@pytest.mark.parametrize(
    ("words", "message"),
    [each for name in CHEAP for each in refused(name)],
)
def test_impossible_plans_and_flags_are_refused(
    files: Path, words: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    before = sorted(files.iterdir())
    assert_refused(CliRunner().invoke(main, words), message)
    assert sorted(files.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "expected"),
    [each for name in ("plan", "traffic", "tree", "observe", "mistakes") for each in said(name)],
)
def test_answers_say(
    files: Path,
    words: list[str],
    expected: list[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(files)
    if not any("90 %" in text for text in expected):  # an interval is of all draws
        request.getfixturevalue("few_draws")
    assert_said(words, expected)


@pytest.fixture(scope="module")
def models(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a copy of the folder of models, with prompts and models that cannot be used."""
    folder = shutil.copytree(folders, tmp_path_factory.mktemp("refused") / "models")
    for name, content in {
        "empty.txt": b"",
        "blank.jsonl": b'{"prompt": " "}\n',
        "bytes.txt": b"\xff\xfe\xfd",
        "half.jsonl": b'{"prompt": ',
    }.items():
        (folder / name).write_bytes(content)
    (folder / "empty").mkdir()
    for name in ("damaged-config", "damaged-weights", "weightless", "incomplete"):
        shutil.copytree(folder / "target", folder / name)
    (folder / "damaged-config" / "config.json").write_text("{")
    (folder / "damaged-weights" / "model.safetensors").write_text("{")
    (folder / "weightless" / "model.safetensors").unlink()
    incomplete = folder / "incomplete" / "model.safetensors"
    weights = load_file(incomplete)
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, incomplete, metadata={"format": "pt"})
    return folder


# Beginnings of messages whose reason only a device, a tokenizer, a model or a server shows.
WITH_MODELS = (
    "got cuda without", "chat template, got", "must fit the", "prompt and new tokens must fit",
    "model 'damaged-weights'",
    "must have all of its weights", "must name devices", "device_map must name modules",
    "compile needs a decoder-only", "context must leave room", "no server answers at http",
    "concurrency must be 1 with transformers", "engine-command of vllm", "vllm must start",
)  # fmt: skip
WITHOUT_TORCH = """
import json, sys
for name in ("torch", "transformers", "tokenizers"):
    sys.modules[name] = None  # any import of it now fails
from click.testing import CliRunner
from specplan.main import main
results = [CliRunner().invoke(main, words) for words in json.load(sys.stdin)]
print(json.dumps([[each.exit_code, each.stderr] for each in results]))
"""


def test_mistakes_are_refused_without_torch(models: Path) -> None:
    cases = [
        case.values for name in ("models", "bild", "engines", "tune") for case in refused(name)
    ]
    known = [case for case in cases if not case[1].startswith(WITH_MODELS)]
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH],
        input=json.dumps([words for words, _ in known]),
        capture_output=True,
        text=True,
        cwd=models,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert ended.returncode == 0, ended.stderr
    for (words, message), (status, error) in zip(known, json.loads(ended.stdout), strict=True):
        assert (status, message in error) == (2, True), (words, error)


@pytest.mark.parametrize(
    ("words", "message"),
    [each for name in ("models", "bild", "engines", "tune") for each in refused(name)],
)
def test_impossible_settings_of_models_are_refused_before_decoding(
    models: Path, words: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(models)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for decoding in (
        "estimator.timing.arms.plain_session",
        "estimator.traces.measured_traces.plain_session",
        "reference.speculative.speculative_blocks",
    ):
        monkeypatch.setattr(decoding, lambda *_, **__: pytest.fail("found too late"))
    assert_refused(CliRunner().invoke(main, words), message)
