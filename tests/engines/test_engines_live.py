"""Engines started for real on the embedded pair: their texts, counters and steps are the laws'."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from engines.engine import Engine, EngineRun, Setting
from engines.kind import EngineKind, engine_kinds
from engines.servers.http import post_json
from engines.servers.in_process import Transformers
from engines.servers.llama_cpp import LlamaCpp, LlamaCppServer
from engines.servers.mlx import Mlx
from engines.sources import observe
from engines.text_scores import acceptance, local_scorer
from simulator.acceptance.replay import Replay
from tests.engines.engine_pairs import DRAFT, TARGET, embedded_ids, run_of

PROMPTS = embedded_ids(count=2)
TOKENS, GAMMA, BEYOND = 16, 4, 32
LOCAL = local_scorer(TARGET, DRAFT)


@pytest.fixture(scope="module", params=["llama.cpp", "mlx", "transformers"])
def live(request: pytest.FixtureRequest, llama_cpp: LlamaCpp) -> SimpleNamespace:
    """Returns a kind of engine, and its greedy runs by gamma: a server is started once for each."""
    kind = engine_kinds()[request.param]
    started: dict[str, Engine] = {"llama.cpp": llama_cpp, "mlx": Mlx(TARGET, DRAFT)}
    engine = started.get(kind.name, Transformers(TARGET, DRAFT))
    greedy = {}
    for gamma in (0, GAMMA, BEYOND):
        with engine.serve(Setting(gamma, kind.draft_samplings[0])) as server:
            greedy[gamma] = run_of(server, PROMPTS, tokens=TOKENS, speculative=gamma > 0)
    return SimpleNamespace(kind=kind, greedy=greedy)


def replayed_steps(kind: EngineKind, own: EngineRun, gamma: int, temperature: float) -> float:
    """Returns the target passes that replay expects of a run's own texts."""
    texts = [(prompt, text.tokens) for prompt, text in zip(PROMPTS, own.completions, strict=True)]
    start = 0 if kind.drafts_with_prompt else 1
    chances = [
        acceptance(*pair, draft_sampling=kind.draft_samplings[0], temperature=temperature)[start:]
        for pair in LOCAL(texts, temperature)
    ]
    return sum(float(Replay(a).calls(gamma)) - kind.drafts_with_prompt for a in chances)


def tokens(own: EngineRun) -> list[tuple[int, ...]]:
    return [text.tokens for text in own.completions]


@pytest.mark.parametrize("gamma", [GAMMA, BEYOND])
def test_greedy_ids_and_steps_are_the_targets_own(live: SimpleNamespace, gamma: int) -> None:
    own = live.greedy[gamma]
    assert tokens(own) == tokens(live.greedy[0])
    steps = own.steps(drafts_past_end=live.kind.drafts_past_end)
    assert steps == round(replayed_steps(live.kind, own, gamma, 0.0))
    assert own.total.drafts >= steps - len(PROMPTS)
    # Each block has its own token and room for at most TOKENS - 1 drafted tokens.
    assert own.total.drafted <= own.total.drafts * min(gamma, TOKENS - 1)


def test_engines_write_the_ids_that_the_folder_finds_likeliest(live: SimpleNamespace) -> None:
    texts = zip(PROMPTS, tokens(live.greedy[0]), strict=True)
    assert all((target.ranks == 1).all() for target, _ in LOCAL(list(texts), 0.0))


def test_mlx_accepts_a_drawn_token_only_where_the_target_draws_the_same() -> None:
    with Mlx(TARGET, DRAFT).serve(Setting(1, "sampled")) as server:
        own = run_of(server, PROMPTS * 4, tokens=TOKENS, temperature=1.0)
    texts = zip(PROMPTS * 4, tokens(own), strict=True)
    scores = LOCAL(list(texts), 1.0)
    both_draw = np.mean([np.exp(draft.logprobs).mean() for _, draft in scores])
    either = np.mean(
        [acceptance(*pair, draft_sampling="sampled", temperature=1.0).mean() for pair in scores]
    )
    accepted = own.total.accepted / own.total.drafts
    deviation = np.sqrt(both_draw * (1 - both_draw) / own.total.drafts)
    # 120 tokens: 4 deviations, one false alarm in ten thousand.
    assert abs(accepted - both_draw) < 4 * deviation < either - accepted


def test_mlx_decodes_one_text_at_a_time() -> None:
    several = Mlx(TARGET, DRAFT).serve(Setting(1, "sampled", concurrency=2))
    with pytest.raises(ValueError, match="concurrency must be 1 with mlx"), several:
        pass


@pytest.fixture(scope="module")
def server(llama_cpp: LlamaCpp):
    """Gives llama.cpp's server with drafts, for two requests at once."""
    with llama_cpp.serve(Setting(GAMMA, "argmax", concurrency=2)) as up:
        yield up


def test_argmax_drafts_of_sampled_texts_stand_exactly_where_the_text_is_the_drafts_argmax(
    server: LlamaCppServer,
) -> None:
    own = run_of(server, PROMPTS, tokens=TOKENS, temperature=1.0)
    expected = replayed_steps(engine_kinds()["llama.cpp"], own, GAMMA, 1.0)
    assert own.steps(drafts_past_end=False) == round(expected)


def test_requests_at_once_write_the_texts_that_they_write_alone(server: LlamaCppServer) -> None:
    alone, together = (
        run_of(server, PROMPTS, tokens=TOKENS, concurrency=concurrency) for concurrency in (1, 2)
    )
    assert tokens(together) == tokens(alone)
    assert together.total == alone.total
    assert len(together.counts) == 1


def test_observed_counts_of_a_live_server_are_its_own(
    server: LlamaCppServer, tmp_path: Path
) -> None:
    run_of(server, PROMPTS, tokens=TOKENS)
    body = {"prompt": list(PROMPTS[0]), "n_predict": TOKENS, "temperature": 0.0}
    before = observe([server.url], gamma=GAMMA)
    answer = tmp_path / "answer.json"
    answer.write_text(json.dumps(post_json(f"{server.url}/completion", body)))
    found, counts = observe([server.url], gamma=GAMMA), server.counts()
    assert (found.drafts, found.drafted) == (counts.drafts, counts.drafted)
    assert found.hits == counts.by_position + (0,) * (GAMMA - len(counts.by_position))
    between, timed = found.since(before), observe([str(answer)], gamma=GAMMA)
    assert (timed.drafted, timed.accepted) == (between.drafted, between.accepted)
    # Where a single token is left to emit, the last pass drafts nothing.
    assert timed.drafts - between.drafts in (0, 1)
