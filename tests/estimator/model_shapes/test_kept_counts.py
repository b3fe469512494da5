"""Saved counts of models equal fresh counts."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from estimator.model_shapes import kept_counts
from estimator.model_shapes.counting import Counted, count, without_storage
from estimator.model_shapes.kept_counts import (
    DEFAULTS,
    Known,
    count_once,
    known_count,
    read_known,
    sizes,
)
from estimator.model_shapes.plain_decoders import plain_count
from estimator.model_shapes.plain_families import WITHOUT_SIZE
from estimator.model_shapes.shape import storage
from simulator.cost.roofline.matrices import Matrix
from specplan.main import main

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
SMALL: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 96,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
}  # fmt: skip
FAMILIES = {
    "llama4_text": SMALL | {
        "model_type": "llama4_text", "head_dim": 32, "num_local_experts": 4, "num_hidden_layers": 4,
        "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "intermediate_size_mlp": 48,
        "attention_chunk_size": 8,
    },
    "deepseek_v3": SMALL | {
        "model_type": "deepseek_v3", "moe_intermediate_size": 16, "n_routed_experts": 8,
        "n_shared_experts": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1, "n_group": 1,
        "topk_group": 1, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 4, "v_head_dim": 8, "num_key_value_heads": 4,
    },
}  # fmt: skip
# A model that only transformers counts.
BUILT = SMALL | {"model_type": "seed_oss"}
# Values other than the defaults of settings that change no size.
CHANGED: dict[str, Any] = {
    "architectures": ["Other"], "attention_dropout": 0.5, "bos_token_id": 7,
    "draft_vocab_size": 50, "dtype": "float16", "eos_token_id": [8, 9], "hidden_act": "gelu",
    "initializer_range": 0.5, "max_position_embeddings": 77, "max_window_layers": 1,
    "norm_topk_prob": True, "output_router_logits": True, "pretraining_tp": 2,
    "rms_norm_eps": 0.1, "rope_parameters": {"rope_type": "default", "rope_theta": 77.0},
    "rope_scaling": {"rope_type": "linear", "factor": 2.0}, "rope_theta": 55.0,
    "router_aux_loss_coef": 0.5, "torch_dtype": "float16", "transformers_version": "1.0",
    "use_cache": False, "_name_or_path": "elsewhere", "attn_scale": 0.5,
    "attn_temperature_tuning": False, "auto_map": {"AutoModel": "a.B"}, "aux_loss_alpha": 0.5,
    "cache_implementation": "hybrid", "ep_size": 2, "floor_scale": 8,
    "for_llm_compressor": True, "initial_context_length": 16, "n_group": 2, "pad_token_id": 5,
    "quantization_config": {"quant_method": "fp8"}, "attention_multiplier": 0.5,
    "attn_logit_softcapping": 25.0, "embd_pdrop": 0.5, "embedding_multiplier": 2.0,
    "final_logit_softcapping": 15.0, "hidden_activation": "gelu", "logits_scaling": 2.0,
    "original_max_position_embeddings": 77, "query_pre_attn_scalar": 64, "resid_pdrop": 0.5,
    "residual_multiplier": 0.5, "rope_local_base_freq": 55.0,
    "rope_interleave": False, "routed_scaling_factor": 0.5, "router_jitter_noise": 0.5,
    "scoring_func": "softmax", "seq_aux": True, "swiglu_limit": 5.0, "topk_group": 2,
    "experts_per_token": 3, "swiglu_alpha": 1.5, "topk_method": "greedy",
    "_attn_implementation_autoset": True,
}  # fmt: skip


def published(name: str) -> Any:
    return json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "specplan" / "shapes"


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Configurations that were counted, in order."""
    made: list[Any] = []

    def noted(config: Any, *asked: Any) -> Counted:
        made.append(config)
        return count(config, *asked)

    monkeypatch.setattr(kept_counts, "count", noted)
    return made


@pytest.mark.parametrize(
    "known",
    read_known(),
    ids=lambda each: f"{each.sizes['model_type']} {each.sizes['hidden_size']} {each.part}",
)
def test_kept_counts_equal_new_counts(known: Known) -> None:
    assert count(known.sizes, known.kept, known.part) == known.counted
    assert sizes(known.sizes) == known.sizes


def test_counted_matrices_hold_all_values_of_attention_and_feed_forward_networks() -> None:
    latent = 0
    for known in read_known():
        for part in known.counted.weights:
            values = sum(m.outputs * m.inputs * m.copies for m in part.matrices)
            assert values == (part.values if part.kind in ("attention", "feed-forward") else 0)
            # DeepSeek's projections to the latent state are whole on every GPU, its heads are not.
            latent += Matrix(2112, 7168, "whole", 61) in part.matrices
    assert latent > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_names_listed_without_a_size_have_none(family: str) -> None:
    plain = dict(FAMILIES[family])
    assert set(CHANGED) == WITHOUT_SIZE
    assert sizes(plain | CHANGED) == sizes(plain)
    assert count(plain | CHANGED) == count(plain) == count({**plain, **DEFAULTS[family]})


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.json")), ids=lambda file: file.stem)
def test_the_shipped_configurations_are_known(file: Path) -> None:
    """Families of published models are plain, or their counts are known."""
    config = published(file.stem)
    if "draft_vocab_size" in config:  # what the layers of its kind of head are counted as
        config["vocab_size"] = config["draft_vocab_size"]
    kept = storage(config).kept
    plain = plain_count(without_storage(config), kept)
    assert (known_count(config, kept) is None) is (plain is not None)
    if plain is None:
        predicting = known_count(config, kept, "last layer")
        assert (predicting is not None) is ("num_nextn_predict_layers" in config)


def test_lists_of_llama_4_that_follow_from_other_keys_are_known() -> None:
    """As the published configuration has them, in the text's part of a model that also sees."""
    maverick = published("llama-4-maverick")
    lists = {"moe_layers": list(range(1, 48, 2)), "no_rope_layers": [1, 1, 1, 0] * 12}
    whole = {"model_type": "llama4", "text_config": maverick | lists | {"use_qk_norm": False}}
    assert known_count(whole) == known_count(maverick) is not None
    assert count(maverick | lists) == known_count(maverick)
    other = maverick | {"no_rope_layers": [1, 0] * 24}
    assert known_count(other) is None
    assert count(other) != known_count(maverick)


@pytest.mark.parametrize(
    "other", [{"attention_bias": True}, {"v_head_dim": 64}, {"vocab_size": 128000}, {"new": 1}]
)
def test_names_of_several_sizes_are_not_known(other: dict[str, Any]) -> None:
    assert known_count(published("deepseek-v3") | other) is None


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_is_counted_once(family: str, cache: Path, counts: list[Any]) -> None:
    config = FAMILIES[family]
    whole, last = count_once(config), count_once(config, ("mlp",), "last layer")
    assert whole == count(config)
    assert last == count(config, ("mlp",), "last layer") != whole
    assert (count_once(config), count_once(config, ("mlp",), "last layer")) == (whole, last)
    assert len(counts) == len(list(cache.iterdir())) == 2


def test_another_configuration_or_version_counts_again(
    cache: Path, counts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert count_once(BUILT) != count_once(BUILT | {"vocab_size": 200})
    # Formats change no count.
    count_once(BUILT | {"quantization_config": {"quant_method": "fp8"}})
    assert len(counts) == 2
    for changed in ("importlib.metadata.version", "estimator.model_shapes.kept_counts._code"):
        monkeypatch.setattr(changed, lambda *_: "another")
        count_once(BUILT)
    assert len(counts) == 4


@pytest.mark.parametrize(
    "damage", [b"", b"\xff", b"[]", b'{"key": "of another"}', b"half", b"other"]
)
def test_a_damaged_file_is_ignored_and_replaced(
    damage: bytes, cache: Path, counts: list[Any]
) -> None:
    other = BUILT | {"vocab_size": 200}
    before = count_once(BUILT)
    file = next(cache.iterdir())
    whole = file.read_bytes()
    if damage == b"other":  # the count of another model under the name
        count_once(other)
        damage = next(each for each in cache.iterdir() if each != file).read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if damage == b"half" else damage)
    counts.clear()
    assert count_once(BUILT) == before
    assert len(counts) == 1
    assert file.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_ignored_and_a_relative_one_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert count_once(BUILT) == count(BUILT)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert kept_counts.folder() == tmp_path / ".cache" / "specplan" / "shapes"


def test_no_cache_neither_reads_nor_writes(tmp_path: Path, cache: Path, counts: list[Any]) -> None:
    arguments = _plan(tmp_path, BUILT | {"dtype": "bfloat16"})
    anew = CliRunner().invoke(main, [*arguments, "--no-cache"])
    assert anew.exit_code == 0, anew.output
    assert not cache.exists()
    for _ in range(2):
        assert CliRunner().invoke(main, arguments).stdout == anew.stdout
    assert len(counts) == len(list(cache.iterdir())) == 2  # the target and the draft
    for file in cache.iterdir():
        file.unlink()
    assert CliRunner().invoke(main, [*arguments, "--no-cache"]).stdout == anew.stdout
    assert not list(cache.iterdir())


def test_no_cache_needs_configurations() -> None:
    refused = CliRunner().invoke(main, ["plan", "--alpha", "0.8", "--c", "0.1", "--no-cache"])
    assert refused.exit_code == 2
    assert "--c cannot be combined with --no-cache, which needs --target-config" in refused.stderr


def test_known_and_kept_counts_need_no_torch(tmp_path: Path, cache: Path) -> None:
    known = _plan(tmp_path / "known", published("gpt-oss-120b"), published("gpt-oss-120b-eagle3"))
    kept = _plan(tmp_path / "kept", BUILT | {"dtype": "bfloat16"})
    assert CliRunner().invoke(main, kept).exit_code == 0
    unknown = _plan(tmp_path / "unknown", BUILT | {"dtype": "bfloat16", "vocab_size": 200})
    # A program whose imports of torch fail plans from known and kept counts, and no other.
    code = "import sys\nsys.modules['torch'] = None\nfrom specplan.main import main\n" + "".join(
        f"main({arguments!r}, standalone_mode=False)\nprint('planned')\n"
        for arguments in (known, kept, unknown)
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )  # fmt: skip
    assert done.stdout.splitlines().count("planned") == 2
    assert "torch" in done.stderr.splitlines()[-1]


def _plan(folder: Path, target: Any, draft: Any = None) -> list[str]:
    """Returns the arguments of a plan for these models; without a draft, the target's twin is."""
    folder.mkdir(exist_ok=True)
    files = {"target": target, "draft": {"name": "twin", **target} if draft is None else draft}
    for name, config in files.items():
        (folder / f"{name}.json").write_text(json.dumps(config), encoding="utf-8")
    configs = [f"--{name}-config={folder / name}.json" for name in files]
    return ["plan", *configs, "--gpu", "h100", "--alpha", "0.8"]
