"""ONNX Runtime GenAI on the embedded pair: texts and rounds agree with the models."""

import json
import runpy
import subprocess
import sys
import warnings
from collections import Counter
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from engines.engine import Setting
from engines.kind import EngineSettings, Models, engine_kinds
from engines.servers import onnx_files
from engines.servers.onnx_files import CONFIGURATION
from engines.text_scores import acceptance, local_scorer
from simulator.acceptance.replay import Replay
from tests.engines.engine_pairs import DRAFT, TARGET, embedded_ids, run_of

pytest.importorskip("onnxruntime_genai", reason="the extra onnxruntime is not installed")
from engines.servers.onnxruntime import OnnxRuntime, OnnxServer

PROMPTS, TOKENS, GAMMA = embedded_ids(count=3), 24, 3
LOCAL = local_scorer(TARGET, DRAFT)
KIND = engine_kinds()["onnxruntime"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> OnnxRuntime:
    """Returns the engine with the embedded pair, converted by the library's own builder.

    The builder runs in this process, which has imported torch.
    """
    models = Models(TARGET, DRAFT, tmp_path_factory.mktemp("onnx"), 128)
    # The draft's own folder has no tokenizer, which the builder copies.
    whole = models.folder / "draft"
    whole.mkdir()
    for file in (*Path(DRAFT).iterdir(), *Path(TARGET).glob("tokenizer*")):
        (whole / file.name).symlink_to(file)
    stated = Models(TARGET, str(whole), models.folder, models.positions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_files, "subprocess", SimpleNamespace(run=run_here))
        return OnnxRuntime.of_models(stated, EngineSettings("onnxruntime", threads=1))


@pytest.fixture(scope="module")
def plain_texts(engine: OnnxRuntime) -> list[tuple[int, ...]]:
    """Returns the greedy texts of the target without drafts."""
    with engine.serve(Setting(0)) as server:
        plain = run_of(server, PROMPTS, tokens=TOKENS, speculative=False)
    return [text.tokens for text in plain.completions]


def run_here(command: list[str], **settings: object) -> subprocess.CompletedProcess[str]:
    """Runs a command `python -m MODULE …` in this process."""
    python, option, module, *arguments = command
    assert (python, option) == (sys.executable, "-m")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(sys, "argv", [module, *arguments])
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except NotImplementedError as error:
            return subprocess.CompletedProcess(command, 1, "", f"Traceback:\n{error}\n")
    return subprocess.CompletedProcess(command, 0, "", "")


@pytest.mark.parametrize("gamma", [1, GAMMA, 8])
def test_greedy_texts_and_rounds_are_the_replay_of_the_models(
    engine: OnnxRuntime, plain_texts: list[tuple[int, ...]], gamma: int
) -> None:
    with engine.serve(Setting(gamma, "sampled")) as server:
        own = run_of(server, PROMPTS, tokens=TOKENS)
    texts = [text.tokens for text in own.completions]
    assert texts == plain_texts
    scores = LOCAL(list(zip(PROMPTS, texts, strict=True)), 0.0)
    assert all((target.ranks == 1).all() for target, _ in scores)
    expected = sum(
        Replay(acceptance(*pair, draft_sampling="sampled", temperature=0.0)[text.first :]).calls(
            gamma
        )
        for pair, text in zip(scores, own.completions, strict=True)
    )
    assert own.steps(drafts_past_end=KIND.drafts_past_end) == expected
    assert own.obeys(gamma, drafts_past_end=KIND.drafts_past_end)
    assert own.total.accepted == sum(own.total.by_position)


def test_sampled_rounds_accept_as_the_models_laws_allow(engine: OnnxRuntime) -> None:
    prompts = PROMPTS * 4
    with engine.serve(Setting(1, "sampled")) as server:
        own = run_of(server, prompts, tokens=TOKENS, temperature=1.0)
    texts = [text.tokens for text in own.completions]
    scores = LOCAL(list(zip(prompts, texts, strict=True)), 1.0)
    allowed = np.mean(
        [acceptance(*pair, draft_sampling="sampled", temperature=1.0).mean() for pair in scores]
    )
    rate = own.total.accepted / own.total.drafts
    # Some 170 rounds: four deviations, one false alarm in ten thousand.
    assert abs(rate - allowed) < 4 * np.sqrt(allowed * (1 - allowed) / own.total.drafts)


@pytest.mark.parametrize("gamma", [0, 1, GAMMA, 8])
def test_the_id_that_ends_texts_does_not_end_ours(
    engine: OnnxRuntime,
    plain_texts: list[tuple[int, ...]],
    gamma: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    [(common, times)] = Counter(chain(*plain_texts)).most_common(1)
    assert times > len(PROMPTS)
    target, draft = (str(Path(engine.target, name).resolve()) for name in ("target", "draft"))
    other = OnnxRuntime(target, draft, tmp_path, 1)
    for name in ("target", "pair"):
        place = tmp_path / name / CONFIGURATION
        whole = json.loads(place.read_text())
        place.write_text(json.dumps({"model": whole["model"] | {"eos_token_id": [common]}}))
    monkeypatch.setattr(other, "_end", common)
    with other.serve(Setting(gamma, "sampled")) as server:
        own = run_of(server, PROMPTS, tokens=TOKENS, speculative=gamma > 0)
    assert [text.tokens for text in own.completions] == plain_texts
    # A round counts no more tokens than it emitted; only the last may draft behind the text.
    assert own.total.accepted <= own.decoded + gamma * len(PROMPTS)
    if gamma > 0:
        assert own.obeys(gamma, drafts_past_end=True)


def test_texts_of_one_round_are_refused(engine: OnnxRuntime) -> None:
    message = r"max_new_tokens must be at least gamma \+ 2 = 5 with onnxruntime, .* got 4"
    with (
        engine.serve(Setting(GAMMA, "sampled")) as server,
        pytest.raises(ValueError, match=message),
    ):
        run_of(server, PROMPTS, tokens=GAMMA + 1)


def test_a_round_of_one_drafted_token_takes_two_passes_of_the_target(engine: OnnxRuntime) -> None:
    passes = {}
    for gamma in (1, 2):
        with engine.serve(Setting(gamma, "sampled")) as server:
            generator = server._generator(PROMPTS[0], TOKENS, do_sample=False)
        for _ in range(TOKENS):
            generator.generate_next_token()
        found = generator.get_speculative_stats()
        passes[gamma] = found["target_forward_passes"] / found["rounds"]
    assert passes[1] > 1.5
    assert passes[2] == 1
    assert KIND.off_line == {1}


def test_the_engines_own_scores_are_the_models(engine: OnnxRuntime) -> None:
    text = (PROMPTS[0], (5, 1000, 7, 29))
    with engine.serve(Setting(0)) as server:
        own = server.score(*text)
    [(target, _)] = LOCAL([text], 1.0)
    assert np.allclose(own.logprobs, target.logprobs, atol=1e-3)
    assert own.ranks.tolist() == target.ranks.tolist()


def test_a_folder_of_the_builder_is_taken_as_it_is(engine: OnnxRuntime, tmp_path: Path) -> None:
    built = Path(engine.target, "target").resolve(), Path(engine.target, "draft").resolve()
    models = Models(str(built[0]), str(built[1]), tmp_path, 128)
    again = OnnxRuntime.of_models(models, EngineSettings("onnxruntime", threads=1))
    with again.serve(Setting(GAMMA, "sampled")) as server:
        assert isinstance(server, OnnxServer)
        text = server.complete(PROMPTS[0], max_new_tokens=5, temperature=0.0, seed=1)
    assert len(text.tokens) == 5


def test_a_path_that_leaves_the_folder_is_refused_by_the_library(
    engine: OnnxRuntime, tmp_path: Path
) -> None:
    whole = json.loads(Path(engine.target, CONFIGURATION).read_text())
    whole["model"]["decoder"]["filename"] = "../model.onnx"
    (tmp_path / CONFIGURATION).write_text(json.dumps(whole))
    with pytest.raises(RuntimeError, match="must not contain path traversal"):
        engine.load(str(tmp_path))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (Setting(17, "sampled"), "gamma must be at most 16 with onnxruntime, got 17"),
        (Setting(2, "sampled", concurrency=2), "concurrency must be 1 with onnxruntime"),
    ],
)
def test_settings_without_support_in_the_library_are_refused(
    engine: OnnxRuntime, setting: Setting, message: str
) -> None:
    with pytest.raises(ValueError, match=message), engine.serve(setting):
        pass


def test_a_model_that_the_builder_does_not_know_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_files, "subprocess", SimpleNamespace(run=run_here))
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "architectures": ["None"]}')
    models = Models(str(tmp_path), str(tmp_path), tmp_path, 128)
    message = r"a model must be one that .* converts, got .*: The .* not currently supported"
    with pytest.raises(ValueError, match=message):
        OnnxRuntime.of_models(models, EngineSettings("onnxruntime"))


def test_the_last_line_of_a_builder_that_fails_is_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process of its own, as users' models are converted; of a module that starts fast."""
    monkeypatch.setattr(onnx_files, "BUILDER", "json.tool")
    models = Models(str(tmp_path), str(tmp_path), tmp_path, 128)
    message = r"one that json\.tool converts, got .*: python.* error: argument infile: can't open"
    with pytest.raises(ValueError, match=message):
        OnnxRuntime.of_models(models, EngineSettings("onnxruntime"))
