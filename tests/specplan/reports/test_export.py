"""The flags that set a planned gamma in other programs."""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from engines.kind import Drafted, methods_of, never_zero
from reference.models.embedded import weights_folder
from simulator.choice.schedule import Range
from simulator.cost.roofline.shapes import DraftKind
from specplan.reports.flags import export, export_schedule, exported_to

DRAFT = Drafted("D")
RANGES = (Range(1, 16, 5), Range(17, 64, 2), Range(65, 256, 0))


def copying(server: str, drafter: str, *, gamma: int = 4) -> str:
    return export(server, gamma=gamma, draft=DRAFT, drafter=drafter)


def words_of(text: str) -> dict[str, str]:
    """Returns flags and their values."""
    words = shlex.split(text, comments=True)
    return dict(zip(words[::2], words[1::2], strict=True))


def vllm_config(text: str) -> dict[str, Any]:
    [(flag, value)] = words_of(text).items()
    assert flag == "--speculative-config"
    found: dict[str, Any] = json.loads(value)
    return found


OWN = {"method": "draft_model", "model": "D", "num_speculative_tokens": 4}
LOOKUP = {"method": "ngram", "prompt_lookup_max": 3, "prompt_lookup_min": 1}
SUFFIX = {"method": "suffix", "suffix_decoding_max_tree_depth": 24}
BY_BATCH = "num_speculative_tokens_per_batch_size"


@pytest.mark.parametrize(
    ("text", "config"),
    [
        (export("vllm", gamma=4, draft=DRAFT), OWN),
        (export("vllm", gamma=4, draft=DRAFT, verification="block"),
         OWN | {"rejection_sample_method": "block"}),
        (copying("vllm", "lookup:3"), LOOKUP | {"num_speculative_tokens": 4}),
        (copying("vllm", "suffix"), SUFFIX
         | {"num_speculative_tokens": 4, "suffix_decoding_max_cached_requests": 0}),
        # With outputs of other requests vLLM keeps as many as it does anyway.
        (copying("vllm", "suffix:log.jsonl"), SUFFIX | {"num_speculative_tokens": 4}),
        (export_schedule("vllm", RANGES, draft=DRAFT),
         OWN | {"num_speculative_tokens": 5, BY_BATCH: [[1, 16, 5], [17, 64, 2], [65, 256, 1]]}),
    ],
)  # fmt: skip
def test_vllm_gets_one_json_object(text: str, config: dict[str, object]) -> None:
    assert vllm_config(text) == config


def test_transformers_gets_a_constant_schedule_that_never_stops_early() -> None:
    from transformers import GenerationConfig

    draft = SimpleNamespace(generation_config=GenerationConfig())
    before = vars(draft.generation_config) | {}
    exec(export("transformers", gamma=4, draft=DRAFT), {"draft": draft})
    after = vars(draft.generation_config)
    assert set(after) == set(before)
    assert {name: after[name] for name in after if after[name] != before[name]} == {
        "num_assistant_tokens": 4,
        "num_assistant_tokens_schedule": "constant",
        "assistant_confidence_threshold": 0,
    }


def test_llama_cpp_gets_a_p_min_of_0() -> None:
    assert words_of(export("llama.cpp", gamma=4, draft=Drafted("my draft.gguf"))) == {
        "--spec-type": "draft-simple", "--model-draft": "my draft.gguf",
        "--spec-draft-n-max": "4", "--spec-draft-p-min": "0",
    }  # fmt: skip


def test_sglang_verifies_one_token_more_than_it_drafts() -> None:
    assert words_of(export("sglang", gamma=4, draft=DRAFT)) == {
        "--speculative-algorithm": "STANDALONE", "--speculative-draft-model-path": "D",
        "--speculative-num-steps": "4", "--speculative-eagle-topk": "1",
        "--speculative-num-draft-tokens": "5",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("server", "kind", "printed"),
    [
        ("vllm", "model", '"method": "draft_model", "model": "D"'),
        ("vllm", "EAGLE-3", '"method": "eagle3", "model": "D"'),
        ("vllm", "PARD", '"num_speculative_tokens": 4, "parallel_drafting": true'),
        ("vllm", "DFlash", "# with enable_adaptive_verification vLLM verifies of each block"),
        ("sglang", "EAGLE-3", "--speculative-algorithm EAGLE3 --speculative-draft-model-path D"),
        ("sglang", "MTP", "--speculative-algorithm EAGLE --speculative-num-steps 4"),
        ("sglang", "DFlash", "DFLASH --speculative-draft-model-path D "
         "--speculative-num-draft-tokens 5"),
        ("llama.cpp", "EAGLE-3", "--spec-type draft-eagle3 --model-draft D"),
        ("llama.cpp", "MTP", "--spec-type draft-mtp --spec-draft-n-max 4"),
        ("tensorrt-llm", "EAGLE-3", "decoding_type: Eagle3\n  speculative_model: D"),
        ("tensorrt-llm", "MTP", "decoding_type: MTP\n  max_draft_len: 4"),
        ("tensorrt-llm", "DFlash", "decoding_type: DFlash\n  speculative_model: D"),
        ("tensorrt-llm", "PARD", "decoding_type: PARD\n  speculative_model: D"),
    ],
)  # fmt: skip
def test_a_head_is_loaded_by_its_own_name(server: str, kind: str, printed: str) -> None:
    assert printed in export(server, gamma=4, draft=Drafted("D", kind))


@pytest.mark.parametrize("server", exported_to())
def test_a_draft_that_a_server_does_not_load_is_refused(server: str) -> None:
    assert set(methods_of(server)) <= set(get_args(DraftKind))
    with pytest.raises(ValueError, match=rf"a draft for {server} must be of .*, got Domino"):
        export(server, gamma=4, draft=Drafted("D", "Domino"))


@pytest.mark.parametrize(
    "text",
    [
        *(export(server, gamma=0, draft=DRAFT) for server in exported_to()),
        *(copying("vllm", drafter, gamma=0) for drafter in ("lookup:3", "suffix")),
        *(export_schedule(server, (Range(1, 8, 0),), draft=DRAFT)
          for server in ("vllm", "tensorrt-llm", "sglang")),
    ],
)  # fmt: skip
def test_gamma_zero_exports_no_flag(text: str) -> None:
    assert text.startswith("# gamma is 0")


def test_llama_cpp_draws_drafts_if_drawn_drafts_were_planned() -> None:
    flags = export("llama.cpp", gamma=4, draft=replace(DRAFT, sampling="sampled"))
    assert flags.endswith(" --spec-draft-sampling probabilistic")
    assert "sampling" not in export("llama.cpp", gamma=4, draft=replace(DRAFT, sampling="argmax"))


def test_llama_cpps_flags_are_in_the_table_of_arguments_that_its_wheel_holds() -> None:
    # The wheel exposes no parser; its table of arguments is compiled in, each name a C string.
    folder = Path(find_spec("xllamacpp").submodule_search_locations[0])
    library = b"".join(path.read_bytes() for path in folder.glob("xllamacpp*.so"))
    texts = [
        export("llama.cpp", gamma=4, draft=replace(DRAFT, sampling="sampled")),
        copying("llama.cpp", "lookup:3"),
    ]
    flags = [
        word for text in texts for word in shlex.split(text, comments=True) if word.startswith("--")
    ]
    assert len(flags) == 9
    assert [flag for flag in flags if f"\0{flag}\0".encode() not in library] == []
    assert b"\0--no-such-flag\0" not in library
    methods = methods_of("llama.cpp").values()
    values = (*methods, "ngram-simple", "{greedy,probabilistic}")
    assert [value for value in values if f"{value}\0".encode() not in library] == []


@pytest.mark.parametrize(
    ("server", "lookup", "start"),
    [
        ("vllm", "lookup:vllm:2-3", "--speculative-config"),
        ("vllm", "lookup:3", "# vllm copies from the earliest of the longest matches, up to the "
         "text's end\n"),
        ("transformers", "lookup:vllm:1-3", "target.generate"),
        ("llama.cpp", "lookup:vllm", "# llama.cpp copies from the latest"),
    ],
)  # fmt: skip
def test_a_comment_names_the_difference_of_another_lookup(
    server: str, lookup: str, start: str
) -> None:
    assert copying(server, lookup).startswith(start)


def test_a_lookup_keeps_its_lengths() -> None:
    assert '"prompt_lookup_min": 2' in copying("vllm", "lookup:vllm:2-3")
    text = copying("tensorrt-llm", "lookup:3")
    assert "  decoding_type: NGram\n  max_draft_len: 4\n  max_matching_ngram_size: 3" in text


def test_transformers_still_has_the_settings_of_a_lookup() -> None:
    from transformers import GenerationConfig

    text = copying("transformers", "lookup:3")
    given = dict(re.findall(r"(\w+)=(\d)", text))
    assert given == {"prompt_lookup_num_tokens": "4", "max_matching_ngram_size": "3"}
    assert set(given) <= set(vars(GenerationConfig()))


def test_comments_name_the_limits_of_a_schedule_of_vllm() -> None:
    text = export_schedule("vllm", RANGES, draft=Drafted("a draft", "EAGLE-3"))
    assert "Above the last range vLLM keeps its number" in text.splitlines()[0]
    # A schedule with 0 can stall vLLM: the comment says why 1 is there.
    assert "The plan has 0 from batch 65 on" in text
    assert "49548" in text
    # With its second model runner, a schedule is not obeyed, or the server does not start.
    assert "VLLM_USE_V2_MODEL_RUNNER=0" in text
    assert "others may not work" not in text
    drawn = export_schedule("vllm", RANGES, draft=Drafted("D", "EAGLE-3", "sampled"))
    assert '"draft_sample_method": "probabilistic"' in drawn
    assert "draft_sample_method" not in text
    own_head = export_schedule("vllm", RANGES, draft=Drafted("D", "MTP"))
    assert "others may not work" in own_head
    assert vllm_config(own_head)["method"] == "mtp"
    assert "model" not in vllm_config(own_head)


def test_tensorrt_llm_drafts_one_token_in_place_of_none() -> None:
    text = export_schedule("tensorrt-llm", RANGES, draft=DRAFT)
    assert "draft_len_schedule: {16: 5, 64: 2, 256: 1}" in text
    assert "pull request 16888" in text
    assert "max_draft_len: 5" in text


def test_sglang_takes_the_steps_by_the_first_batch_size_of_each_range() -> None:
    text = export_schedule("sglang", RANGES, draft=Drafted("D", "EAGLE-3"))
    *comments, schedule, flags = text.splitlines()
    assert all(line.startswith("# ") for line in comments)
    assert comments[-1].endswith("that SGLang pads to the size of a graph:")
    assert "pull request 23994" in comments[0]
    assert "0 needs" not in export_schedule("sglang", RANGES[:2], draft=Drafted("D", "EAGLE-3"))
    assert json.loads(schedule) == {
        "1": {"candidate_steps": [5]},
        "17": {"candidate_steps": [2]},
        "65": {"candidate_steps": [0]},
    }
    assert "--speculative-num-steps 5" in flags
    assert "--speculative-algorithm EAGLE3" in flags


@pytest.mark.parametrize("kind", ["Medusa", "suffix", "n-gram"])
def test_drafts_of_a_constant_number_take_no_schedule_of_vllm(kind: str) -> None:
    with pytest.raises(ValueError, match="a draft for vllm by batch size must be of"):
        export_schedule("vllm", RANGES, draft=Drafted("D", kind))


def test_neighbours_that_draft_one_token_are_one_range() -> None:
    assert never_zero((Range(1, 4, 2), Range(5, 8, 1), Range(9, 16, 0))) == (
        Range(1, 4, 2),
        Range(5, 16, 1),
    )


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: copying("transformers", "lookup:vllm"), "matches of 1 token and more, got 5"),
        (lambda: copying("sglang", "lookup:3"), r"must be one of llama.cpp, .*, got sglang"),
        (lambda: copying("sglang", "suffix"), "of suffix decoding must be one of vllm, got"),
        (lambda: export_schedule("llama.cpp", RANGES, draft=DRAFT), "of sglang, .*, got llama.cpp"),
    ],
)
def test_a_way_to_draft_that_a_server_lacks_is_refused(
    refused: Callable[[], str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        refused()


@pytest.mark.skipif("SPECPLAN_VLLM" not in os.environ, reason="needs SPECPLAN_VLLM")
def test_vllm_itself_takes_exported_flags(tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    draft.mkdir()
    target = weights_folder("target")
    for path in [*weights_folder("draft").iterdir(), *target.glob("tokenizer*.json")]:
        (draft / path.name).symlink_to(path.resolve())
    ranges = (Range(1, 4, 3), Range(5, 8, 0))
    exported = [
        export("vllm", gamma=3, draft=Drafted(str(draft), sampling="argmax")),
        export("vllm", gamma=3, draft=Drafted(str(draft), sampling="sampled")),
        copying("vllm", "lookup:3", gamma=3),
        export_schedule("vllm", ranges, draft=Drafted(str(draft))),
    ]
    configs = [json.loads(shlex.split(text, comments=True)[1]) for text in exported]
    program = (
        "import json, sys\n"
        "from vllm.engine.arg_utils import EngineArgs\n"
        "for config in json.loads(sys.argv[2]):\n"
        "    args = EngineArgs(model=sys.argv[1], dtype='float32', max_model_len=512,\n"
        "                      enforce_eager=True, speculative_config=config)\n"
        "    made = args.create_engine_config().speculative_config\n"
        "    print('made', made.method, made.num_speculative_tokens)\n"
    )
    ran = subprocess.run(
        [os.environ["SPECPLAN_VLLM"], "-c", program, str(target), json.dumps(configs)],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"},
        check=False,
    )
    made = [line.split()[1:] for line in ran.stdout.splitlines() if line.startswith("made")]
    expected = [["draft_model", "3"]] * 2 + [["ngram", "3"], ["draft_model", "3"]]
    assert made == expected, ran.stderr[-2000:]
