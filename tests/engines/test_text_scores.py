"""Two log-probabilities for each token say what two whole rows say."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from engines.servers.vllm import VllmServer, _rank
from engines.text_scores import TextScores, acceptance, engine_scorer, local_scorer
from estimator.traces.scoring import trace
from estimator.traces.traces import DraftSampling
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.huggingface import load_model
from reference.records import Stopping
from reference.speculative import Subject, plain_session
from tests.engines.engine_pairs import DRAFT, TARGET, embedded_ids, other_pair
from tests.engines.made_engine import MadeEngine
from tests.engines.vllm_server import vllm_server

Refusal = Callable[[], object]


@pytest.fixture(scope="module", params=["embedded", "another tokenizer"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str, list[tuple[int, ...]]]:
    """Returns target, draft and prompts."""
    if request.param == "embedded":
        return TARGET, DRAFT, embedded_ids(count=4)
    return other_pair(tmp_path_factory.mktemp("pair"))


def test_acceptance_from_two_log_probabilities_is_that_of_full_rows(
    pair: tuple[str, str, list[tuple[int, ...]]],
) -> None:
    target_name, draft_name, prompts = pair
    target, draft = (load_model(name, device=torch.device("cpu")) for name in pair[:2])
    sampling, length = Sampling(temperature=1.0), 24
    texts = [
        plain_session(
            target,
            prompt,
            sampling=sampling,
            stopping=Stopping(length),
            generator=torch.Generator().manual_seed(number),
        )
        .finished()
        .tokens
        for number, prompt in enumerate(prompts)
    ]
    written = [(prompt, tuple(text)) for prompt, text in zip(prompts, texts, strict=True)]
    scores = local_scorer(target_name, draft_name)(written, 1.0)
    ways: dict[DraftSampling, Sampling] = {"sampled": sampling, "argmax": Sampling(temperature=0)}
    for way, drafts in ways.items():
        drafter = ModelDrafter(draft, drafts, target.vocabulary)
        subject = Subject(target, drafter, sampling, Stopping(length))
        rows = [trace(subject, *text, max_gamma=4) for text in written]
        own = [acceptance(*score, draft_sampling=way, temperature=1.0) for score in scores]
        for chances, row in zip(own, rows, strict=True):
            np.testing.assert_allclose(chances, row.acceptance, rtol=1e-4, atol=1e-6)
        # The mean of a is alpha's estimate, too: 4 standard errors, 6 false alarms in 100 000.
        betas = np.concatenate([row.beta for row in rows])
        assert 0.1 < betas.mean() < 0.95
        difference = np.concatenate(own) - betas
        assert abs(difference.mean()) < 4 * difference.std(ddof=1) / np.sqrt(len(difference))


def test_at_temperature_zero_drafts_are_argmax_however_they_are_drawn() -> None:
    target = TextScores.of([-0.5, -0.5], [1, 1])
    draft = TextScores.of([-0.1, -3.0], [1, 7])
    for way in ("sampled", "argmax"):
        assert acceptance(target, draft, draft_sampling=way, temperature=0).tolist() == [1, 0]


def tied_model(ids: torch.Tensor) -> SimpleNamespace:
    """Returns one law for all texts: ids 1 and 4 tie for the likeliest, then 3, then 0."""
    row = torch.tensor([0.5, 2.0, -1.0, 1.0, 2.0, -2.0])
    return SimpleNamespace(logits=row.repeat(1, ids.shape[1], 1))


def test_of_ids_that_tie_the_least_is_the_likeliest_to_both_scorers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("engines.text_scores", "tests.engines.vllm_server"):
        monkeypatch.setattr(f"{module}.load_causal", lambda source: tied_model)
    text = ((0,), (1, 4, 3, 0))
    [(of_target, of_draft)] = local_scorer("T", "D")([text], 0.0)
    with vllm_server("T", name="T") as url:
        told = VllmServer(url).score(*text)
    for scores in (of_target, of_draft, told):
        assert scores.ranks.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(told.logprobs, of_target.logprobs)


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        (
            lambda: TextScores.of([-1.0, float("nan")], [1, 1]),
            "log-probabilities of a text must be numbers of at most 0, got nan at its token 1",
        ),
        (
            lambda: TextScores.of([0.5], [1]),
            "log-probabilities of a text must be numbers of at most 0, got 0.5 at its token 0",
        ),
        (lambda: TextScores.of([-1.0], [0]), "ranks of tokens must be at least 1, got 0"),
        (
            lambda: engine_scorer(MadeEngine())([], 0.7),
            "temperature must be 0 or 1 where the server scores texts",
        ),
    ],
)
def test_scores_refuse(refusal: Refusal, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        refusal()


def test_vllm_s_rank_of_a_tie_is_that_of_its_argmax() -> None:
    """The server may list 4 first, whose rank is then 1, or 1."""
    for ranks in ((1, 2), (2, 1)):
        row = {"4": {"logprob": -1.0, "rank": ranks[0]}, "1": {"logprob": -1.0, "rank": ranks[1]}}
        assert (_rank(row, 1), _rank(row, 4)) == (1, 2)
    third = {"7": {"logprob": -3.0, "rank": 5}, "4": {"logprob": -1.0, "rank": 1},
             "1": {"logprob": -2.0, "rank": 2}}  # fmt: skip
    assert _rank(third, 7) == 5
