"""GGUF headers: their sizes agree with the writer's own reader and with config.json."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from click.testing import CliRunner

from engines.servers.gguf_files import write_gguf
from estimator.model_shapes.drafts import read_pair
from estimator.model_shapes.gguf_header import read_header
from estimator.model_shapes.gguf_shape import gguf_shape
from reference.models.embedded import weights_folder
from specplan.main import main

TARGET, DRAFT = weights_folder("target"), weights_folder("draft")
WIDTH, HEADS, KEPT, WORDS = 64, 4, 2, 96
Q8 = gguf.GGMLQuantizationType.Q8_0


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the embedded pair as GGUF files."""
    folder = tmp_path_factory.mktemp("gguf")
    for model in (TARGET, DRAFT):
        write_gguf(model, TARGET, folder / f"{model.name}.gguf")
    return folder


def written(
    path: Path,
    *,
    architecture: str = "llama",
    layers: int = 4,
    further: Mapping[str, int | Sequence[int]] | None = None,
    without: str = "",
    experts: int = 0,
) -> Path:
    """Writes a made model in 8 bits; further: fields of its architecture; without: left out."""
    writer = gguf.GGUFWriter(path, architecture)
    fields = {
        "block_count": layers, "embedding_length": WIDTH, "attention.head_count": HEADS,
        "attention.head_count_kv": KEPT, **(further or {}),
    }  # fmt: skip
    for name, value in fields.items():
        if name != without:
            add: Any = writer.add_uint32 if isinstance(value, int) else writer.add_array
            add(f"{architecture}.{name}", value)
    matrices: dict[str, tuple[int, ...]] = {"token_embd": (WORDS, WIDTH), "output": (WORDS, WIDTH)}
    for layer in range(layers):
        matrices |= {f"blk.{layer}.attn_q": (WIDTH, WIDTH), f"blk.{layer}.ffn_up": (128, WIDTH)}
        if experts:
            matrices[f"blk.{layer}.ffn_up_exps"] = (experts, 32, WIDTH)
    for name, sizes in matrices.items():
        if name != without:
            values = gguf.quants.quantize(np.ones(sizes, dtype=np.float32), Q8)
            writer.add_tensor(f"{name}.weight", values, raw_dtype=Q8)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_header_agrees_with_the_writers_own_reader(embedded: Path) -> None:
    path = embedded / "target.gguf"
    own, other = read_header(path), gguf.GGUFReader(path)
    assert own.fields["tokenizer.ggml.tokens"] == other.fields["tokenizer.ggml.tokens"].contents()
    assert own.of_model("block_count") == other.fields["llama.block_count"].contents()
    assert {tensor.name: (list(tensor.sizes), tensor.type) for tensor in own.tensors} == {
        each.name: (each.shape.tolist(), each.tensor_type) for each in other.tensors
    }
    # Tensors begin at multiples of 32 bytes.
    for mine, theirs in zip(own.tensors, other.tensors, strict=True):
        assert 0 <= mine.stored_bytes - theirs.n_bytes < 32


def test_a_models_shape_is_that_of_its_config(embedded: Path) -> None:
    from_files = read_pair(embedded / "target.gguf", embedded / "draft.gguf")
    from_configs = read_pair(TARGET, DRAFT, dtype="float32", activations="float16")
    for own, other in (
        (from_files[0], from_configs[0]), (from_files[1].step, from_configs[1].step),
    ):  # fmt: skip
        sizes = [(s.layers, s.hidden, s.heads, s.vocabulary, s.parameters) for s in (own, other)]
        assert sizes[0] == sizes[1]
        for kind in ("attention", "feed-forward", "head", "other"):
            assert sum(each.values for each in own.only(kind)) == sum(
                each.values for each in other.only(kind)
            )
        assert own.weight_bytes == pytest.approx(other.weight_bytes, rel=1e-3)
        # A cache of 16 bits, where float32 weights would have 32.
        [mine], [theirs] = own.caches, other.caches
        assert (mine.layers, mine.operations, mine.shards) == (
            theirs.layers,
            theirs.operations,
            theirs.shards,
        )
        assert 2 * mine.bytes_per_token == theirs.bytes_per_token


def test_quantised_weights_take_the_bytes_that_the_file_says(tmp_path: Path) -> None:
    shape = gguf_shape(written(tmp_path / "m.gguf"))
    # Blocks of 32 values and a scale of two bytes.
    matrices = 2 * WORDS * WIDTH + 4 * (WIDTH + 128) * WIDTH
    assert shape.weight_bytes == matrices * 34 / 32 + 4 * WIDTH
    assert shape.stored_as == "gguf"
    assert {each.computed_in for each in shape.multiplied} == {"float16", "float32"}


def test_experts_are_those_of_the_header(tmp_path: Path) -> None:
    further = {"expert_count": 8, "expert_used_count": 2}
    shape = gguf_shape(written(tmp_path / "m.gguf", further=further, experts=8))
    [experts] = shape.only("experts")
    assert (experts.experts, experts.active, experts.inner) == (8, 2, 32)
    assert experts.active_values == 4 * 2 * 32 * WIDTH


def test_one_layer_in_six_of_gemma_3_sees_all_tokens(tmp_path: Path) -> None:
    further = {"attention.sliding_window": 512}
    path = written(tmp_path / "m.gguf", architecture="gemma3", layers=12, further=further)
    found = {(cache.kind, cache.layers, cache.window) for cache in gguf_shape(path).caches}
    assert found == {("sliding", 10, 512), ("full", 2, None)}


def test_fields_by_layer_give_caches_by_layer(tmp_path: Path) -> None:
    further = {"attention.head_count_kv": [2, 0, 2, 1], "attention.key_length": 32}
    shape = gguf_shape(written(tmp_path / "m.gguf", further=further))
    # Keys and values of 32 numbers of two bytes.
    assert {(cache.layers, cache.bytes_per_token) for cache in shape.caches} == {
        (2, 2 * 64 * 2.0), (1, 1 * 64 * 2.0),
    }  # fmt: skip


def test_layers_of_an_mtp_head_are_not_the_models(tmp_path: Path) -> None:
    whole = gguf_shape(written(tmp_path / "a.gguf", layers=3))
    drafting = written(tmp_path / "b.gguf", layers=4, further={"nextn_predict_layers": 1})
    assert gguf_shape(drafting).parameters == whole.parameters


def test_shards_are_read_together(tmp_path: Path) -> None:
    first, second = (tmp_path / f"m-0000{number}-of-00002.gguf" for number in (1, 2))
    written(first, layers=2)
    whole = gguf_shape(written(tmp_path / "whole.gguf", layers=2))
    first.rename(second)
    written(first, layers=2)
    assert gguf_shape(first).weight_bytes == 2 * whole.weight_bytes
    second.unlink()
    with pytest.raises(FileNotFoundError, match="00002-of-00002"):
        gguf_shape(first)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"without": "block_count"}, "must state llama.block_count, at least 1, got None"),
        ({"without": "token_embd"}, "must have a tensor token_embd.weight, got none"),
        ({"experts": 2}, "must state llama.expert_count, at least 1, got None"),
        ({"further": {"attention.kv_lora_rank": 64}}, "got attention.kv_lora_rank of llama"),
        ({"further": {"ssm.state_size": 16}}, "got ssm.state_size of llama"),
    ],
)
def test_a_header_without_a_needed_field_is_refused(
    stated: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        gguf_shape(written(tmp_path / "m.gguf", **stated))


@pytest.mark.parametrize("kept", [0.02, 0.4, 0.9])
def test_a_cut_file_is_refused(kept: float, embedded: Path, tmp_path: Path) -> None:
    content, cut = (embedded / "draft.gguf").read_bytes(), tmp_path / "cut.gguf"
    cut.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(ValueError, match=r"cut\.gguf must be a whole GGUF file, got a damaged one"):
        read_header(cut)


def test_another_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "model.gguf"
    other.write_bytes(b"PK\x03\x04" + bytes(64))
    with pytest.raises(ValueError, match="must be a GGUF file of version 2 or 3, got another file"):
        read_header(other)


def test_a_plan_takes_gguf_files_in_place_of_configurations(embedded: Path) -> None:
    pair = ["--target-config", str(embedded / "target.gguf"),
            "--draft-config", str(embedded / "draft.gguf")]  # fmt: skip
    stated = ["plan", "--alpha", "0.7", "--gpu", "h100", *pair]
    found = CliRunner().invoke(main, stated)
    assert found.exit_code == 0, found.output
    assert "Costs by the roofline of h100-sxm" in found.output
    refused = CliRunner().invoke(main, [*stated, "--dtype", "q4_0"])
    assert refused.exit_code == 2
    assert "dtype must not be given with a GGUF file, which states it, got q4_0" in refused.output


def test_a_tuning_of_gguf_files_expects_the_times_of_their_sizes(embedded: Path) -> None:
    pair = ["--target", str(embedded / "target.gguf"), "--draft", str(embedded / "draft.gguf")]
    stated = ["tune", "--engine", "llama.cpp", *pair, "--gpu", "h100", "--dry-run", "--json"]
    found = CliRunner().invoke(main, [*stated, "--num-prompts", "1"])
    assert found.exit_code == 0, found.output
    assert '"target": "' + pair[1] in found.output
