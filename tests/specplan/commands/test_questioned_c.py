"""A c that does not fit the models' sizes is questioned, whichever file or option has these."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from specplan.main import main

QUESTION = "does not fit the models' sizes"
NAMES = "--target Qwen/Qwen2.5-14B --draft Qwen/Qwen2.5-0.5B"
# 8 tokens in each call, which gives c 0.41.
RUNS = "--run gamma=0,tps=60 --run gamma=8,tps=78,length=5.88"
CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
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


def said(words: str) -> Result:
    result = CliRunner().invoke(main, words.split())
    assert result.exit_code == 0, result.output
    return result


def questioned(words: str) -> bool:
    return QUESTION in " ".join(said(words).stderr.split())


def test_a_c_far_above_the_sizes_is_questioned() -> None:
    assert questioned(f"plan {RUNS} {NAMES}")
    assert not questioned(f"plan {RUNS}")
    assert not questioned(f"plan {RUNS} --target Qwen2.5-14B --draft Qwen2.5-7B")
    data = json.loads(said(f"plan {RUNS} {NAMES} --json").stdout)
    assert data["c_by_sizes"] == {
        "share": pytest.approx(0.5 / 14),
        "low": pytest.approx(0.5 / 56),
        "high": pytest.approx(1.5 / 14 + 0.25),
        "questioned": True,
    }
    assert json.loads(said(f"plan {RUNS} --json").stdout)["c_by_sizes"] is None


def test_a_c_far_below_the_sizes_is_questioned() -> None:
    sizes = "--target Qwen2.5-14B --draft Qwen2.5-7B"
    assert questioned(f"plan --alpha 0.8 --c 0.05 {sizes}")
    assert not questioned(f"plan --alpha 0.8 --c 0.5 {sizes}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LOADED, True),
        (LOADED.replace("0.5b", "7b"), False),
        (STARTED.format(method="draft_model", draft="Qwen/Qwen2.5-0.5B"), True),
        (STARTED.format(method="eagle3", draft="A/Qwen2.5-0.5B-head"), False),
    ],
    ids=["llama.cpp", "llama.cpp, larger", "vllm", "vllm, head"],
)
def test_names_come_from_a_log(text: str, expected: bool, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(text)
    gamma = "--gamma 8" if text.startswith("srv") else ""
    assert questioned(f"observe {log} {gamma} --c 0.41") is expected
    assert questioned(f"observe {log} {gamma} --c 0.41 {NAMES}")


def test_names_come_from_a_run_s_file(tmp_path: Path) -> None:
    bench = tmp_path / "bench.json"
    counts = {"drafts": 1000, "draft_tokens": 3000, "accepted_tokens": 1850}
    rates = {"spec_decode_per_position_acceptance_rates": [0.82, 0.61, 0.42]}
    timed = {"model_id": "Qwen/Qwen2.5-14B", "completed": 8, "max_concurrency": 1}
    speeds = {"mean_tpot_ms": 6.5}
    named = {f"spec_decode_num_{name}" if name == "drafts" else f"spec_decode_{name}": count
             for name, count in counts.items()}  # fmt: skip
    bench.write_text(json.dumps({**timed, **speeds, **named, **rates}))
    runs = f"plan --run gamma=0,tpot=7 --run file={bench}"
    assert questioned(f"{runs} --draft Qwen2.5-0.5B")
    assert not questioned(f"{runs} --draft Qwen2.5-7B")


def test_sizes_come_from_configurations_where_there_are_runs() -> None:
    """The roofline's own c follows from the sizes: only measured times are questioned."""
    eagle = CONFIGS / "llama-3.1-8b-eagle3.json"
    pair = f"--target-config {CONFIGS / 'llama-3.1-8b.json'} --draft-config {eagle} --gpu h100"
    data = json.loads(
        said(f"plan {pair} --run gamma=0,tpot=7.1 --run gamma=3,tpot=4,length=2.85 --json").stdout
    )
    assert data["c_by_sizes"]["share"] == pytest.approx(0.05, abs=0.01)
    assert data["c_by_sizes"]["questioned"] is False
    assert json.loads(said(f"plan {pair} --alpha 0.7 --json").stdout)["c_by_sizes"] is None


def test_an_export_names_the_draft() -> None:
    flags = said(f"plan {RUNS} {NAMES} --export vllm").stdout
    assert '"model": "Qwen/Qwen2.5-0.5B"' in flags
