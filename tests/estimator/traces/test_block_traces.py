"""Block verification replayed along a text is what the decoder does, text by text, exactly."""

import random
from collections import defaultdict

import pytest
import torch

from estimator.traces.scoring import known_verification, trace, trace_pair, verification_of
from estimator.traces.traces import block_efficiency, replayed_blocks
from reference.laws import Sampling
from reference.policies import Fixed
from reference.records import Stopping
from reference.rules import BlockVerification, Lenient, Strict
from reference.speculative import Subject, speculative_session
from tests.reference.combinations import DRAFT, PROMPT, TARGET, VOCABULARY, model_drafter
from tests.reference.enumeration import walk_choices
from tests.reference.plain_block_verification import beginnings
from tests.reference.tabular import TabularModel

TOKENS = 4
PLAIN = Sampling()


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_calls_along_each_text_are_replayed_exactly(
    gamma: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, drafter = TabularModel(TARGET, VOCABULARY), model_drafter(DRAFT, PLAIN)

    def run() -> tuple[int, ...]:
        subject = Subject(target, drafter, PLAIN, Stopping(TOKENS), BlockVerification())
        begun = speculative_session(subject, PROMPT, Fixed(gamma), torch.Generator())
        generation = begun.finished()
        return (generation.target_calls, *generation.tokens)

    with monkeypatch.context() as patches:
        law = walk_choices(patches, {}, joint={BlockVerification: beginnings}).law(run)
    mass: dict[tuple[int, ...], float] = defaultdict(float)
    calls: dict[tuple[int, ...], float] = defaultdict(float)
    for (count, *tokens), probability in law.items():
        mass[tuple(tokens)] += probability
        calls[tuple(tokens)] += probability * count
    assert len(mass) == VOCABULARY**TOKENS
    differs = 0
    pair = Subject(target, drafter, PLAIN, Stopping(TOKENS))
    for text, probability in mass.items():
        recorded = trace(pair, PROMPT, text, max_gamma=gamma)
        replayed = float(recorded.judged("block", gamma).replay.calls(gamma))
        assert replayed == pytest.approx(calls[text] / probability, abs=1e-9)
        differs += abs(replayed - float(recorded.replay.calls(gamma))) > 0.01
    assert (differs > 0) is (gamma > 1)


def test_the_rules_judge_by_token_or_by_block() -> None:
    assert verification_of(BlockVerification()) == "block"
    assert verification_of(Strict()) == verification_of(Lenient(0.5)) == "token"


def test_a_rule_that_no_replay_knows_is_refused_by_its_name() -> None:
    class Nothing:
        name = "nothing"
        lossless = True
        accepts = replacement = None

    assert verification_of(Nothing()) is None
    with pytest.raises(ValueError, match="must be one that replay knows, got nothing"):
        known_verification(Nothing())


def test_drafts_by_argmax_gain_nothing_from_block_verification() -> None:
    target, drafter = TabularModel(TARGET, VOCABULARY), model_drafter(DRAFT, PLAIN)
    text = random.Random(0).choices(range(VOCABULARY), k=60)
    pair = trace_pair(Subject(target, drafter, PLAIN, Stopping(60)), PROMPT, text, max_gamma=4)
    whole = [each.judged("block", 4) for each in (pair.sampled, pair.argmax)]
    assert block_efficiency([whole[1]], 4) == pytest.approx(block_efficiency([pair.argmax], 4))
    assert block_efficiency([whole[0]], 4) > block_efficiency([pair.sampled], 4)
    assert pair.sampled.judged("token", 4) is pair.sampled
    counts = replayed_blocks([whole[0]], 4)
    assert sum(counts[4]) == pytest.approx(1 / block_efficiency([whole[0]], 4))
