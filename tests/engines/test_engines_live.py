"""Engines started for real on the embedded pair: their texts, counters and steps are the laws'."""

import json
from pathlib import Path

import numpy as np
import pytest
from engine_pairs import DRAFT, TARGET, embedded_ids

from engines.engine import Engine, Setting
from engines.scores.text_scores import acceptance
from engines.servers.llama_cpp import LlamaCpp, LlamaCppServer
from engines.servers.transformers import Transformers
from engines.serving.http import post_json
from engines.sources import observe
from engines.trials.runs import Run, run
from engines.trials.scoring import LocalScorer
from simulator.acceptance.replay import expected_calls

PROMPTS = embedded_ids(count=2)
TOKENS = 24


def texts(engine: Engine, gamma: int, temperature: float) -> Run:
    with engine.serve(Setting(gamma, engine.draft_samplings[0])) as server:
        return run(
            server,
            PROMPTS,
            speculative=gamma > 0,
            max_new_tokens=TOKENS,
            temperature=temperature,
            concurrency=1,
            seed=5,
            progress=lambda: None,
        )


def replayed_steps(engine: Engine, own: Run, gamma: int, temperature: float) -> float:
    """Returns the target passes that replay expects of a run's own texts."""
    scored = LocalScorer(TARGET, DRAFT)(
        [(prompt, text.tokens) for prompt, text in zip(PROMPTS, own.completions, strict=True)],
        temperature,
    )
    start = 0 if engine.drafts_with_prompt else 1
    chances = [
        acceptance(
            target, draft, draft_sampling=engine.draft_samplings[0], temperature=temperature
        )[start:]
        for target, draft in scored
    ]
    return sum(float(expected_calls(a, gamma)) - engine.drafts_with_prompt for a in chances)


@pytest.fixture(params=["llama.cpp", "transformers"])
def engine(request: pytest.FixtureRequest, llama_cpp: LlamaCpp) -> Engine:
    return llama_cpp if request.param == "llama.cpp" else Transformers(TARGET, DRAFT)


def test_greedy_ids_and_steps_are_the_targets_own_at_every_gamma(engine: Engine) -> None:
    alone = [text.tokens for text in texts(engine, 0, 0.0).completions]
    for gamma in (1, 4):
        own = texts(engine, gamma, 0.0)
        assert [text.tokens for text in own.completions] == alone
        steps = own.steps(drafts_past_end=engine.drafts_past_end)
        assert steps == round(replayed_steps(engine, own, gamma, 0.0))
        assert own.total.drafts >= steps - len(PROMPTS)


def test_a_gamma_longer_than_the_text_drafts_what_is_left_of_it(engine: Engine) -> None:
    alone = [text.tokens for text in texts(engine, 0, 0.0).completions]
    own = texts(engine, 2 * TOKENS, 0.0)
    assert [text.tokens for text in own.completions] == alone
    steps = own.steps(drafts_past_end=engine.drafts_past_end)
    assert steps == round(replayed_steps(engine, own, 2 * TOKENS, 0.0))
    # Beside each block's own token there is room for TOKENS - 1 drafted ones at most.
    assert own.total.drafted <= own.total.drafts * (TOKENS - 1)


def test_argmax_drafts_of_sampled_texts_stand_exactly_where_the_text_is_the_drafts_argmax(
    llama_cpp: LlamaCpp,
) -> None:
    own = texts(llama_cpp, 3, 1.0)
    assert own.steps(drafts_past_end=False) == round(replayed_steps(llama_cpp, own, 3, 1.0))


def test_requests_at_once_write_the_texts_that_they_write_alone(llama_cpp: LlamaCpp) -> None:
    alone = texts(llama_cpp, 2, 0.0)
    with llama_cpp.serve(Setting(2, "argmax", concurrency=2)) as server:
        together = run(
            server,
            PROMPTS,
            speculative=True,
            max_new_tokens=TOKENS,
            temperature=0.0,
            concurrency=2,
            seed=5,
            progress=lambda: None,
        )
    assert [t.tokens for t in together.completions] == [t.tokens for t in alone.completions]
    assert together.total == alone.total
    assert len(together.counts) == 1


def test_what_is_observed_of_a_live_server_is_what_it_counts(
    llama_cpp: LlamaCpp, tmp_path: Path
) -> None:
    with llama_cpp.serve(Setting(3, "argmax")) as server:
        assert isinstance(server, LlamaCppServer)
        for prompt in PROMPTS:
            server.complete(prompt, max_new_tokens=TOKENS, temperature=0.0, seed=0)
        body = {"prompt": list(PROMPTS[0]), "n_predict": TOKENS, "temperature": 0.0}
        before = observe([server.url], gamma=3)
        answer = tmp_path / "answer.json"
        answer.write_text(json.dumps(post_json(f"{server.url}/completion", body)))
        found, counts = observe([server.url], gamma=3), server.counts()
    assert (found.drafts, found.drafted) == (counts.drafts, counts.drafted)
    assert found.hits == counts.accepted + (0,) * (3 - len(counts.accepted))
    between, timed = found.since(before), observe([str(answer)], gamma=3)
    assert (timed.drafted, timed.accepted) == (between.drafted, between.accepted)
    # Where a single token is left to emit, the last pass drafts nothing.
    assert timed.drafts - between.drafts in (0, 1)


def test_gguf_and_folder_give_one_law(llama_cpp: LlamaCpp) -> None:
    alone = texts(llama_cpp, 0, 0.0)
    greedy = LocalScorer(TARGET, TARGET)
    for prompt, text in zip(PROMPTS, alone.completions, strict=True):
        [(scores, _)] = greedy([(prompt, text.tokens)], 0.0)
        np.testing.assert_array_equal(scores.ranks, 1)
