"""Pairs in quantised GGUF files: prompts are texts, and counts follow from the files' scores."""

from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
import pytest

from engines.engine import Setting
from engines.kind import EngineSettings, Models
from engines.servers.gguf_pairs import gguf_pair
from engines.servers.llama_cpp import LlamaCpp
from engines.text_scores import acceptance, engine_scorer, local_scorer
from engines.trials.request import ValidateEngine
from engines.trials.validation import validate
from estimator.model_shapes.gguf_names import chosen_file, gguf_file
from estimator.settings import PromptSettings, TimingSettings
from reference.models.huggingface import load_tokenizer
from simulator.acceptance.replay import Replay
from tests.engines.engine_pairs import DRAFT, TARGET, embedded_ids, quantised, run_of

TEXTS = ["def add(a, b):", "import os\n", "class Node:", "for i in range(3):"]
TEMPLATE = "{% for m in messages %}<{{ m.content }}>{% endfor %}"
LOCAL = local_scorer(TARGET, DRAFT)
ONE = EngineSettings("llama.cpp", threads=1)


@pytest.fixture(scope="module")
def files(llama_cpp: LlamaCpp, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Returns the embedded target in 8 bits, with a chat template, and the draft in 4 bits."""
    folder = tmp_path_factory.mktemp("quantised")
    target = quantised(llama_cpp.target, folder / "t.gguf", "Q8_0", chat_template=TEMPLATE)
    return str(target), str(quantised(llama_cpp.draft, folder / "d.gguf", "Q4_0"))


def four_prompts(folder: Path, **stated: bool) -> PromptSettings:
    several = folder / "several"
    several.mkdir()
    for number, text in enumerate(TEXTS):
        (several / f"{number}.txt").write_text(text)
    return PromptSettings(prompts=str(several), num_prompts=2, max_new_tokens=8, **stated)


def test_prompts_are_tokenised_by_the_files_own_tokenizer(
    files: tuple[str, str], tmp_path: Path
) -> None:
    pair = gguf_pair(files[0], files[1:], four_prompts(tmp_path), ONE)
    assert pair is not None
    assert (pair.target, pair.draft, pair.scored_by_engine) == (*files, True)
    tokenizer = load_tokenizer(TARGET)
    assert list(pair.prompts) == [tuple(tokenizer(text)["input_ids"]) for text in TEXTS]


def test_a_chat_is_in_the_template_of_the_targets_file(
    files: tuple[str, str], tmp_path: Path
) -> None:
    pair = gguf_pair(files[0], files[1:], four_prompts(tmp_path, chat=True), ONE)
    assert pair is not None
    tokenizer = load_tokenizer(TARGET)
    assert list(pair.prompts) == [tuple(tokenizer(f"<{text}>")["input_ids"]) for text in TEXTS]


def test_a_quantised_pairs_counts_are_the_replay_of_its_own_scores(files: tuple[str, str]) -> None:
    prompts, gamma, tokens = embedded_ids(count=2), 3, 24
    engine = LlamaCpp.of_models(Models(*files, Path(), 128), ONE)
    runs = {}
    for drafted in (0, gamma):
        with engine.serve(Setting(drafted)) as server:
            runs[drafted] = run_of(server, prompts, tokens=tokens, speculative=drafted > 0)
    texts = [
        (prompt, text.tokens) for prompt, text in zip(prompts, runs[gamma].completions, strict=True)
    ]
    assert [text for _, text in texts] == [text.tokens for text in runs[0].completions]
    scores = engine_scorer(engine)(texts, 0.0)
    assert all((target.ranks == 1).all() for target, _ in scores)
    chances = [acceptance(*pair, draft_sampling="argmax", temperature=0.0)[1:] for pair in scores]
    assert runs[gamma].steps(drafts_past_end=False) == sum(Replay(a).calls(gamma) for a in chances)


def test_llama_cpp_scores_a_text_as_the_models_do(llama_cpp: LlamaCpp) -> None:
    [prompt] = embedded_ids(count=1)
    # The target's likeliest ids, then ids that it finds unlikely.
    with llama_cpp.serve(Setting(0)) as server:
        own = run_of(server, [prompt], tokens=8, speculative=False).completions[0].tokens
    texts = [(prompt, (*own, 5, 1000, 7))]
    served, local = (score(texts, 1.0) for score in (engine_scorer(llama_cpp), LOCAL))
    for mine, theirs in zip(served[0], local[0], strict=True):
        # Keys and values of llama.cpp's cache have 16 bits.
        assert np.allclose(mine.logprobs, theirs.logprobs, rtol=1e-3, atol=2e-3)
        assert ((mine.ranks == 1) == (theirs.ranks == 1)).all()


def test_a_validation_of_gguf_files_explains_the_counts_of_llama_cpp(
    files: tuple[str, str], tmp_path: Path
) -> None:
    found = validate(
        ValidateEngine(
            engine=ONE, text=four_prompts(tmp_path), timing=TimingSettings(repeats=1), seed=1,
            target=files[0], drafts=files[1:], gammas=(2,), temperatures=(0.0,),
        )
    )  # fmt: skip
    [row] = found.rows
    assert (row.acceptance_explained, row.identical_to_target) == (True, True)
    assert row.target_calls == row.predicted_target_calls
    assert (row.target, row.draft) == files


def other_tokens(source: str, path: Path) -> str:
    """Copies a file with another token among its tokens."""
    copied = quantised(Path(source), path, "F32")
    reader = gguf.GGUFReader(copied, "r+")
    parts = reader.fields["tokenizer.ggml.tokens"].parts
    parts[-1][:] = np.frombuffer(b"~" * len(parts[-1]), dtype=np.uint8)
    reader.data.flush()
    return str(copied)


@pytest.mark.parametrize(
    ("target", "drafts", "message"),
    [
        ("t.gguf", [], "draft must be given once with `engine`, got 0"),
        ("t.gguf", ["D"], "target and draft must both be GGUF files if one is, got draft D"),
        (None, ["d.gguf"], "both be GGUF files if one is, got target embedded"),
        ("hf:t", ["hf:u/d"], r"hf: must be followed by USER/MODEL\[:QUANTISATION\], got hf:t"),
    ],
)
def test_files_that_are_no_gguf_pair_are_refused(
    target: str | None, drafts: Sequence[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        gguf_pair(target, drafts, PromptSettings(), ONE)


def test_models_of_folders_are_left_to_others() -> None:
    assert gguf_pair("org/target", ["org/draft"], PromptSettings(), ONE) is None


def test_scores_of_this_machine_are_refused_with_gguf_files() -> None:
    local = EngineSettings("llama.cpp", laws="local")
    with pytest.raises(ValueError, match="laws must be engine with GGUF files, got local"):
        gguf_pair("t.gguf", ["d.gguf"], PromptSettings(), local)


def test_files_with_different_tokens_are_refused(
    files: tuple[str, str], llama_cpp: LlamaCpp, tmp_path: Path
) -> None:
    other = other_tokens(str(llama_cpp.draft), tmp_path / "other.gguf")
    with pytest.raises(ValueError, match=r"must share one tokenizer, got .*t\.gguf with 2048"):
        gguf_pair(files[0], [other], PromptSettings(), ONE)


REPOSITORY = (
    "README.md", "mmproj-Q4_K_M.gguf", "m-BF16.gguf", "q/m-Q8_0-00002-of-00002.gguf",
    "q/m-Q8_0-00001-of-00002.gguf", "m-q4_k_m.gguf",
)  # fmt: skip


@pytest.mark.parametrize(
    ("listed", "quantisation", "chosen"),
    [
        (REPOSITORY, "", "m-q4_k_m.gguf"),
        (REPOSITORY, "Q8_0", "q/m-Q8_0-00001-of-00002.gguf"),
        (REPOSITORY, "bf16", "m-BF16.gguf"),
        (REPOSITORY, "Q2_K", None),
        (("a-Q5_0.gguf", "b-Q6_K.gguf"), "", "a-Q5_0.gguf"),
        (("model.safetensors",), "", None),
    ],
)
def test_the_file_of_a_repository_is_llama_cpps_choice(
    listed: Sequence[str], quantisation: str, chosen: str | None
) -> None:
    assert chosen_file(listed, quantisation) == chosen


def test_a_repositorys_file_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reference.models.hub.require_hub", lambda: None)
    monkeypatch.setattr("huggingface_hub.list_repo_files", lambda name: list(REPOSITORY))
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *names: "/".join(names))
    assert gguf_file("hf:u/m-GGUF:BF16") == Path("u/m-GGUF/m-BF16.gguf")
    message = "u/m-GGUF must have a GGUF file, Q2_K of it was named, got none"
    with pytest.raises(ValueError, match=message):
        gguf_file("hf:u/m-GGUF:Q2_K")
