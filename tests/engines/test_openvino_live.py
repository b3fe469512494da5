"""OpenVINO GenAI on the embedded pair: texts and blocks agree with the models."""

from pathlib import Path

import numpy as np
import pytest

from engines.engine import Setting
from engines.kind import EngineSettings, Models, engine_kinds
from engines.servers.openvino_files import MODEL
from engines.text_scores import acceptance, local_scorer
from engines.trials.audit import audit, predict, text_gap
from simulator.acceptance.replay import Replay
from tests.engines.engine_pairs import DRAFT, TARGET, embedded_ids, run_of

pytest.importorskip("openvino_genai", reason="the extra openvino is not installed")
from engines.servers.openvino import OpenVino, OpenVinoServer

PROMPTS, TOKENS, GAMMA = embedded_ids(count=3), 24, 3
LOCAL = local_scorer(TARGET, DRAFT)
KIND = engine_kinds()["openvino"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> OpenVino:
    """Returns the engine with the embedded pair, converted by the library's own reader."""
    models = Models(TARGET, DRAFT, tmp_path_factory.mktemp("openvino"), 128)
    return OpenVino.of_models(models, EngineSettings("openvino", threads=1))


@pytest.fixture(scope="module")
def plain_texts(engine: OpenVino) -> list[tuple[int, ...]]:
    """Returns the greedy texts of the target without drafts."""
    with engine.serve(Setting(0)) as server:
        plain = run_of(server, PROMPTS, tokens=TOKENS, speculative=False)
    return [text.tokens for text in plain.completions]


@pytest.mark.parametrize("gamma", [1, GAMMA, 8])
def test_greedy_texts_and_blocks_are_the_replay_of_the_models(
    engine: OpenVino, plain_texts: list[tuple[int, ...]], gamma: int
) -> None:
    with engine.serve(Setting(gamma, "sampled")) as server:
        own = run_of(server, PROMPTS, tokens=TOKENS)
    texts = [text.tokens for text in own.completions]
    assert texts == plain_texts
    scores = LOCAL(list(zip(PROMPTS, texts, strict=True)), 0.0)
    assert all((target.ranks == 1).all() for target, _ in scores)
    along = [acceptance(*pair, draft_sampling="sampled", temperature=0.0)[1:] for pair in scores]
    expected = sum(Replay(chances).calls(gamma) for chances in along)
    assert own.steps(drafts_past_end=KIND.drafts_past_end) == expected
    allowed = predict(
        along, times=[1] * len(along), gamma=gamma, drafts_past_end=KIND.drafts_past_end,
        resample=False, generator=np.random.default_rng(0),
    )  # fmt: skip
    assert audit(allowed, own.total)[1] == ""
    assert own.total.by_position[0] / own.total.drafts == pytest.approx(allowed.rates[0].value)
    assert own.obeys(gamma, drafts_past_end=KIND.drafts_past_end)
    assert {text.first for text in own.completions} == {1}


def test_the_engines_own_scores_are_the_models(
    engine: OpenVino, plain_texts: list[tuple[int, ...]]
) -> None:
    text = (PROMPTS[0], (*plain_texts[0], 1000))
    for model, expected in zip(("target", "draft"), LOCAL([text], 1.0)[0], strict=True):
        with engine.serve(Setting(0, model=model)) as server:
            own = server.score(*text)
        assert np.allclose(own.logprobs, expected.logprobs, atol=1e-3)
        assert (own.ranks == 1).tolist() == (expected.ranks == 1).tolist()


def test_a_rejected_drawn_draft_leaves_texts_that_are_not_the_targets(engine: OpenVino) -> None:
    prompts = PROMPTS * 4
    logprobs = {}
    for gamma in (0, 1):
        with engine.serve(Setting(gamma, "sampled")) as server:
            own = run_of(server, prompts, tokens=TOKENS, temperature=1.0, speculative=gamma > 0)
        texts = [text.tokens for text in own.completions]
        scores = LOCAL(list(zip(prompts, texts, strict=True)), 1.0)
        logprobs[gamma] = [[target for target, _ in scores]]
    gap = text_gap(logprobs[1], logprobs[0])
    assert gap is not None, "this version draws rightly: say so in docs/engines.md"
    # The counts agree with the models' laws along the target's own texts all the same.
    assert 0.4 < own.total.accepted / own.total.drafts < 0.9


def test_blocks_are_streamed_whole(engine: OpenVino) -> None:
    with engine.serve(Setting(GAMMA, "sampled")) as server:
        assert isinstance(server, OpenVinoServer)
        for temperature in (0.0, 1.0):
            blocks = [block for block, _, _ in server.blocks(PROMPTS[0], TOKENS, temperature, 3)]
            assert len(blocks[0]) == 1
            assert sum(map(len, blocks)) == TOKENS
            assert max(map(len, blocks)) <= GAMMA + 1


def test_a_folder_in_openvinos_format_is_taken_as_it_is(engine: OpenVino, tmp_path: Path) -> None:
    models = Models(engine.target, engine.draft, tmp_path, 128)
    again = OpenVino.of_models(models, EngineSettings("openvino", threads=1))
    assert (again.target, again.draft) == (engine.target, engine.draft)
    assert (Path(engine.draft) / MODEL).is_file()
    assert list(tmp_path.iterdir()) == []


def test_simultaneous_requests_are_refused(engine: OpenVino) -> None:
    message = "concurrency must be 1 with openvino"
    with (
        pytest.raises(ValueError, match=message),
        engine.serve(Setting(2, "sampled", concurrency=2)),
    ):
        pass
