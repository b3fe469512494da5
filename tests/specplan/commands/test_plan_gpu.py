"""`specplan plan --gpu`: costs by a roofline, a row for each load, and schedules of them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.specplan.plan_inputs import LLAMA, run, run_json


@pytest.fixture
def pair(tmp_path: Path) -> str:
    """Options of an 8B target and a draft of a sixteenth of its layers, alpha 0.7."""
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    draft(tmp_path, LLAMA | {"num_hidden_layers": 2})
    configs = f"--target-config {tmp_path / 'target'} --draft-config {tmp_path / 'draft.json'}"
    return f"{configs} --alpha 0.7"


@pytest.fixture
def gpu(pair: str) -> str:
    return f"{pair} --gpu h100"


@pytest.fixture
def sheet(gpu: str) -> str:
    """Returns the options of `gpu`, priced by the data sheet."""
    return f"{gpu} --cost-model roofline"


def draft(folder: Path, config: dict[str, Any]) -> None:
    """Writes the draft's configuration."""
    (folder / "draft.json").write_text(json.dumps(config), encoding="utf-8")


def words(arguments: str) -> str:
    return " ".join(run(arguments).stdout.split())


def test_roofline_gives_one_row_per_batch_size(sheet: str) -> None:
    rows = run_json(f"{sheet} --batch 1,8,512")["rows"]
    assert [row["batch"] for row in rows] == [1, 8, 512]
    factors = [row["improvement_factor"] for row in rows]
    assert factors[0] > 1.5
    assert factors[2] < min(factors[:2])
    assert rows[1]["baseline_tokens_per_second"] > 4 * rows[0]["baseline_tokens_per_second"]
    assert rows[0]["c_hat"] != rows[0]["c"]
    text = run(f"{sheet} --batch 1,8").stdout
    assert "roofline of h100" in text
    assert "batch" in text


def test_roofline_of_one_batch_is_a_full_plan(gpu: str) -> None:
    result = run_json(gpu)
    assert (result["batch"], len(result["curve"])) == (1, 32)
    for slower in ("--context 8192 --dtype float16", "--layer-overhead-us 300"):
        other = run_json(f"{gpu} {slower}")
        assert other["baseline_tokens_per_second"] < result["baseline_tokens_per_second"]
    free = run_json(f"{gpu} --layer-overhead-us 0")
    assert free["baseline_tokens_per_second"] > result["baseline_tokens_per_second"]


def test_batches_that_do_not_fit_are_marked_in_place_of_numbers(pair: str) -> None:
    big = f"{pair} --gpu l4 --cost-model roofline --context 4096 --batch"
    assert "Does NOT fit: batch 64 at context 4096 needs" in run(f"{big} 64").stdout
    assert "Draft" not in run(f"{big} 64").stdout
    assert run_json(f"{big} 64")["fits"] is False
    table = run(f"{big} 1,64").stdout
    row = next(line for line in table.splitlines() if "does not fit: " in line)
    assert row.split()[1:8] == ["-"] * 7
    assert "Speculation still pays at batch 1, the largest planned that fits." in table


def test_a_grid_has_a_schedule_for_each_context(sheet: str) -> None:
    grid = run_json(f"{sheet} --batch 1:513:256 --context 128,2048")
    assert [(row["context"], row["batch"]) for row in grid["rows"]] == [
        (128, 1), (128, 257), (128, 513), (2048, 1), (2048, 257), (2048, 513),
    ]  # fmt: skip
    contexts = [entry["context"] for entry in grid["schedule"]]
    assert contexts == sorted(contexts)
    for entry in grid["schedule"]:
        rows = [
            row
            for row in grid["rows"]
            if row["context"] == entry["context"]
            and entry["first_batch"] <= row["batch"] <= entry["last_batch"]
        ]
        assert rows[0]["advised_gamma"] == entry["gamma"]
    row = grid["rows"][0]
    assert (row["gpu"], row["tp"], row["dtype"], row["draft_kind"]) == (
        "h100-sxm", 1, None, "model",
    )  # fmt: skip
    assert row["tokens_per_second_low"] < row["tokens_per_second"] < row["tokens_per_second_high"]


def test_several_alphas_have_no_schedule(gpu: str) -> None:
    grid = run_json(gpu.replace("--alpha 0.7", "--alpha 0.7,0.8") + " --batch 1,8")
    assert len(grid["rows"]) == 4
    assert "schedule" not in grid


def test_tensor_parallelism_speeds_a_step_up_and_halves_the_memory(gpu: str) -> None:
    alone, shared = (run_json(f"{gpu} --tp {tp}") for tp in (1, 2))
    assert shared["baseline_tokens_per_second"] > alone["baseline_tokens_per_second"]
    assert shared["needed_gb"] == pytest.approx(alone["needed_gb"] / 2)
    assert run_json(f"{gpu} --tp 2 --draft-tp 1")["needed_gb"] > shared["needed_gb"]


def test_replicas_and_parts_of_experts_are_planned_stated_and_checked() -> None:
    both = (
        "--target-config docs/configs/deepseek-v3.json --draft-config docs/configs/deepseek-v3.json"
    )
    given = f"{both} --gpu h200 --engine sglang --alpha 0.75 --batch 32"
    whole, spread = (run_json(f"{given} {more}") for more in ("--tp 8", "--dp 8 --ep 8"))
    assert (spread["tp"], spread["dp"], spread["ep"]) == (1, 8, 8)
    assert "8 × h200 (tp 1, dp 8, ep 8)" in run(f"{given} --dp 8 --ep 8").stdout.replace("\n ", "")
    # All but experts on every GPU, and an eighth of the latent caches.
    assert spread["needed_gb"] > whole["needed_gb"]
    assert spread["most_batch"] > whole["most_batch"]
    assert run_json(f"{given} --dp 16 --ep 16")["needed_gb"] < 0.7 * spread["needed_gb"]
    assert "ep must divide the tp × dp = 8 GPUs, got 3" in run(f"{given} --tp 8 --ep 3").output
    assert "ep must be at most the 256 experts" in run(f"{given} --dp 512 --ep 512").output


def test_fp8_means_weights_and_activations_where_the_gpu_multiplies_it(gpu: str, pair: str) -> None:
    both = run_json(f"{gpu} --dtype fp8 --batch 512")
    weights = run_json(f"{gpu} --dtype fp8 --activations bf16 --batch 512")
    assert (both["activations"], weights["activations"]) == ("fp8", "bfloat16")
    assert both["baseline_tokens_per_second"] > weights["baseline_tokens_per_second"]
    assert "--dtype fp8 means weights and activations" in run(f"{gpu} --dtype fp8").stdout
    ampere = f"{pair} --gpu a100 --dtype fp8"
    assert run_json(ampere)["activations"] == "bfloat16"
    assert "means weights and" not in run(ampere).stdout


def test_short_names_of_formats_are_the_long_ones(gpu: str) -> None:
    for short, long in (("bf16", "bfloat16"), ("fp16", "float16")):
        assert run_json(f"{gpu} --dtype {short}") == run_json(f"{gpu} --dtype {long}")


def test_a_gpu_of_ones_own_is_taken_by_its_numbers(pair: str, gpu: str) -> None:
    own = run_json(f"{pair} --gpu-flops 989.5 --gpu-bandwidth 3350 --gpu-memory 80")
    assert own["tokens_per_second"] == pytest.approx(run_json(gpu)["tokens_per_second"])
    assert own["gpu"] == "own"


def test_four_bits_are_faster_and_smaller(gpu: str) -> None:
    plain, packed = (run_json(f"{gpu} {more}") for more in ("", "--dtype int4"))
    assert packed["needed_gb"] < 0.45 * plain["needed_gb"]
    assert packed["baseline_tokens_per_second"] > plain["baseline_tokens_per_second"]
    smaller = run_json(f"{gpu} --draft-dtype int4")
    assert packed["needed_gb"] < smaller["needed_gb"] < plain["needed_gb"]


def test_a_head_is_named_and_costs_less_than_a_model(gpu: str, tmp_path: Path) -> None:
    model = run_json(gpu)
    draft(tmp_path, LLAMA | {"num_hidden_layers": 1, "draft_vocab_size": 32000})
    head = run_json(gpu)
    assert head["draft_kind"] == "EAGLE-3"
    assert head["c"] < model["c"]
    assert "taken for EAGLE-3" in words(gpu)


def test_medusa_drafts_no_more_than_it_has_heads(gpu: str, tmp_path: Path) -> None:
    draft(tmp_path, {"medusa_num_heads": 3})
    assert len(run_json(gpu.replace("0.7", "0.9"))["curve"]) == 3


def test_only_single_sequences_have_a_range_of_published_speeds(sheet: str) -> None:
    one, eight = (run_json(f"{sheet} --batch {batch}") for batch in (1, 8))
    assert one["tokens_per_second_low"] < one["tokens_per_second"]
    assert eight["tokens_per_second_low"] is eight["tokens_per_second_high"] is None
    assert "Few speeds of several" in words(f"{sheet} --batch 8")


def test_acceptance_falls_with_the_context_as_runs_say(gpu: str) -> None:
    runs = "--run gamma=3,tpot=5,length=3.2,context=64 --run gamma=3,tpot=5,length=2.2,context=512"
    asked = gpu.replace(" --alpha 0.7", "")
    rows = run_json(f"{asked} --engine vllm {runs} --context 64,181,512 --gamma 3")["rows"]
    tokens = [row["expected_tokens"] for row in rows]
    assert tokens[0] == pytest.approx(3.2, abs=0.05)
    assert tokens[0] > tokens[1] > tokens[2] == pytest.approx(2.2, abs=0.05)


def test_each_context_has_its_schedule_in_an_export(sheet: str) -> None:
    result = run(f"{sheet} --batch 1,64 --context 64,512 --export vllm")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("# Servers choose by batch, not by context: take what fits")
    assert lines[1].startswith("# schedule by batch and context (5 items an entry")
    assert [line for line in lines if "at context" in line] == [
        "# at context 64:", "# at context 512:",
    ]  # fmt: skip
    assert sum("num_speculative_tokens_per_batch_size" in line for line in lines) == 2


def test_an_engine_gives_every_gamma_its_interval(gpu: str, sheet: str) -> None:
    plan, alone = run_json(f"{gpu} --engine vllm"), run_json(sheet)
    source = "by the roofline of h100-sxm, public measurements"
    assert plan["cost"] == {
        "kind": "roofline", "evidence": 0, "model": "public", "source": source,
    }  # fmt: skip
    for point, passes in zip(plan["curve"][:8], alone["curve"][:8], strict=True):
        low, high = point["improvement_factor_low"], point["improvement_factor_high"]
        assert low < point["improvement_factor"] < high
        # Time outside the passes lowers the gain.
        assert point["improvement_factor"] < passes["improvement_factor"]
    assert plan["tokens_per_second_low"] is None
    assert "90 %" in words(f"{gpu} --engine vllm")


def _widths(plan: dict[str, Any]) -> list[float]:
    return [p["improvement_factor_high"] / p["improvement_factor_low"] for p in plan["curve"]]


def test_public_measurements_count_by_default_and_a_named_engine_has_its_own(gpu: str) -> None:
    default, named = run_json(gpu), run_json(f"{gpu} --engine sglang")
    assert default["cost"]["model"] == "public"
    assert all(a > b for a, b in zip(_widths(default), _widths(named), strict=True))
    unnamed = "No server is named: the numbers cover several servers together."
    assert unnamed in words(gpu)
    assert "narrower or wider" in words(gpu)
    assert unnamed not in words(f"{gpu} --engine vllm")
    assert unnamed not in words(f"{gpu} --run gamma=0,tpot=7.5")


def test_a_schedule_ends_as_surely_as_its_last_row() -> None:
    models = "--target-config docs/configs/llama-3.1-8b.json --gpu h100 --cost-model public "
    head = f"{models}--draft-config docs/configs/llama-3.1-8b-eagle3.json --engine vllm"
    text = words(f"{head} --batch 1,256 --alpha 0.45")
    last = run_json(f"{head} --batch 1,256 --alpha 0.45")["rows"][-1]["gain_probability"]
    assert 0.4 < last < 0.75
    assert f"At batch 256 a gain is undecided ({last:.0%}).".replace("%", " %") in text
    assert "still pays" not in text
    assert "still pays at batch 8," in words(f"{head} --batch 1,8 --alpha 0.7")


def test_no_gamma_is_beyond_the_longest_draft_of_a_head(tmp_path: Path) -> None:
    models, head = "--target-config docs/configs/qwen3-8b.json", tmp_path / "config.json"
    config = json.loads(Path("docs/configs/qwen3-8b-eagle3.json").read_text(encoding="utf-8"))
    del config["draft_vocab_size"]
    flash = {"model_type": "qwen3", "architectures": ["DFlashDraftModel"], "block_size": 7}
    flash["dflash_config"] = {"target_layer_ids": [1, 9, 17]}
    head.write_text(json.dumps(config | flash), encoding="utf-8")
    stated = f"{models} --draft-config {head} --gpu h100 --alpha 0.9"
    assert len(run_json(stated)["curve"]) == 6
    assert "limited by --max-gamma" not in run(stated).stderr
    assert "limited by --max-gamma" in run(f"{stated} --max-gamma 4").stderr
    requests = "--rate 1 --prompt-tokens 500 --output-tokens 200"
    for answer in (run(f"{stated} --gamma 7"), run(f"{stated} {requests} --gamma 7", "traffic")):
        assert answer.exit_code == 2
        assert answer.stderr == "Error: gamma must be at most 6, the longest draft, got 7\n"


@pytest.mark.parametrize("card", ["4070", "rtx 3060"])
def test_a_wide_interval_says_how_far_two_runs_narrow_it(pair: str, card: str) -> None:
    asked = f"{pair} --gpu {card.replace(' ', '-')} --dtype int4"
    text = words(asked)
    stated = re.search(
        r"One run at K = 0 and one at K = (\d+) make this speed-up exact to about ± (\d+) %", text
    )
    assert stated is not None, text
    gamma, width = (int(each) for each in stated.groups())
    predicted = run_json(asked)["curve"][gamma - 1]
    length, block = predicted["expected_tokens"], predicted["ms_per_token"]
    runs = f"--run gamma=0,tpot={block * 0.9:.3f} "
    runs += f"--run gamma={gamma},tpot={block:.3f},length={length:.3f}"
    after = run_json(f"{asked} {runs}")["curve"][gamma - 1]
    high, low = after["improvement_factor_high"], after["improvement_factor_low"]
    assert (high / low) ** 0.5 - 1 == pytest.approx(width / 100, abs=0.03)
    assert "exact to about" not in words(f"{asked} {runs}")


def test_of_a_head_an_engine_can_be_in_more_doubt_than_none() -> None:
    models = "--target-config docs/configs/llama-3.1-8b.json --draft-config docs/configs/"
    head = f"{models}llama-3.1-8b-eagle3.json --gpu h100 --cost-model public --alpha 0.7"
    wider = zip(_widths(run_json(f"{head} --engine vllm")), _widths(run_json(head)), strict=True)
    assert all(named > unnamed for named, unnamed in wider)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("rtx-4090", "no kernels were measured on rtx-4090 (only on a100-80gb"),
        ("--engine llama.cpp", "no kernels were measured for llama.cpp (only for vllm"),
        ("--dtype q4_0", "no kernels were measured for weights in q4_0"),
        ("l40s --tp 4", "kernels do not cover several GPUs over PCIe"),
        ("--efficiency 0.8", "a stated efficiency is of the roofline"),
    ],
)
def test_kernels_that_do_not_cover_the_case_are_refused_in_one_line(
    kernel_tables: None, gpu: str, more: str, why: str
) -> None:
    asked = f"{gpu} {more}" if more.startswith("--") else gpu.replace("h100", more or "h100")
    refused = run(f"{asked} --cost-model kernels")
    assert refused.exit_code == 2
    [line] = refused.stderr.splitlines()
    assert line.startswith(f"Error: {why}")
    assert "--cost-model public takes the roofline of" in line


def test_runs_of_one_load_narrow_the_plan_of_another(gpu: str) -> None:
    runs = "--run gamma=0,tpot=7.5 --run gamma=3,tpot=5.2,length=2.6"
    before = run_json(f"{gpu} --engine vllm --batch 8")
    after = run_json(f"{gpu} --engine vllm --batch 8 {runs}")
    source = "by the roofline of h100-sxm, public measurements and 2 runs"
    assert after["cost"] == {
        "kind": "roofline", "evidence": 2, "model": "public", "source": source,
    }  # fmt: skip

    def width(plan: dict[str, Any]) -> float:
        return float(plan["curve"][4]["improvement_factor_high"]) / float(
            plan["curve"][4]["improvement_factor_low"]
        )

    assert width(after) < 0.9 * width(before)
    # At the runs' own load they are met: 7.5 / 5.2, with 2.53 tokens a block for 2.6.
    own = run_json(f"{gpu} --engine vllm {runs}")["curve"][2]["improvement_factor"]
    assert own == pytest.approx(7.5 / 5.2 * 2.533 / 2.6, rel=0.1)


def test_a_stated_efficiency_is_not_in_doubt(gpu: str) -> None:
    slow, fast = (run_json(f"{gpu} --engine vllm --efficiency {e}") for e in (0.3, 0.9))
    assert slow["baseline_ms_per_token"] > 1.5 * fast["baseline_ms_per_token"]


def test_several_gpus_have_a_row_each_that_is_the_plan_of_each(pair: str) -> None:
    names = {"h100": "h100-sxm", "h200": "h200", "l4": "l4"}
    asked = f"{pair} --engine vllm --batch 2 --context 4096"
    rows = run_json(f"{asked} --gpu {','.join(names)}")["rows"]
    assert [row["gpu"] for row in rows] == list(names.values())
    for name, row in zip(names, rows, strict=True):
        alone = run_json(f"{asked} --gpu {name}")
        assert row == {key: alone[key] for key in row}
    table = run(f"{asked} --gpu {','.join(names)}").stdout
    assert "by the roofline of each GPU" in table
    assert "fits up to batch" in table
    for row in rows:
        line = next(line for line in table.splitlines() if line.split()[:1] == [row["gpu"]])
        assert line.split()[1] == str(row["most_batch"])


def test_several_gpus_are_named_with_the_k_to_try(pair: str) -> None:
    for line in run(f"{pair} --engine vllm --gpu h100,l4").stdout.splitlines():
        assert "of a draft step" not in line or line.startswith(("h100-sxm: ", "l4: "))
    large = run(f"{pair} --engine vllm --gpu h100,l4 --context 4096000").stdout
    assert "Nothing fits: try more GPUs" in large
    assert "undecided" not in large


@pytest.mark.parametrize("gpu", ["h100", "l4"])
def test_the_most_that_fits_is_the_largest_batch_that_does(pair: str, gpu: str) -> None:
    asked = f"{pair} --gpu {gpu} --context 4096"
    most = run_json(asked)["most_batch"]
    fits = [run_json(f"{asked} --batch {batch}")["fits"] for batch in (most, most + 1)]
    assert fits == [True, False]


def test_contexts_give_a_gamma_each_and_say_why_it_falls() -> None:
    line = (
        "--target-config docs/configs/qwen3-30b-a3b.json --gpu h200 --engine vllm "
        "--draft-config docs/configs/qwen3-0.6b.json --context 1k:64k "
        "--run gamma=0,tpot=7,context=1024 --run gamma=3,tpot=4,length=3.2,context=1024 "
        "--run gamma=0,tpot=12,context=64000 --run gamma=3,tpot=11.5,length=2.2,context=64000"
    )
    rows = json.loads(run(f"{line} --json").stdout)
    places = [(each["last_context"], each["gamma"]) for each in rows["by_context"]]
    assert places[0][1] > places[-1][1] > 0
    assert places[-1][0] == 65536
    assert {row["context"] for row in rows["rows"]} == {2**each for each in range(10, 17)}
    text = " ".join(run(line).stdout.split())
    assert f"Draft K = {places[0][1]} up to context {places[0][0]} (" in text
    tokens = rows["rows"][0]["drafting"]["expected_tokens"]
    assert f"acceptance changes ({tokens:.2f} to" in text
    assert "Schedule at context" not in text
