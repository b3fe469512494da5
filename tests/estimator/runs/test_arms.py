"""The order in which a validation's arms run."""

from typing import Any

import pytest
from pairs import PROMPTS, tiny_pair

from estimator.runs.arms import BASELINE, WARM_UP_TOKENS, Subject, probed, probing, run_arms, under
from estimator.runs.repeats import probes, timed, without
from reference.laws.sampling import Sampling
from reference.policies.policy import Fixed
from reference.records import Generation
from reference.stopping import Stopping


@pytest.mark.parametrize("seed", [0, 1])
def test_every_arm_is_warmed_up_then_all_run_prompt_by_prompt(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What drifts between two prompts, or settles at the start, meets all arms alike."""
    order: list[tuple[list[int], int, int | None]] = []

    def decoded(target: Any, *arguments: Any, **options: Any) -> Generation:
        policy = options.get("policy")
        gamma = policy.value if isinstance(policy, Fixed) else -1 if policy is not None else None
        order.append((list(arguments[-1]), options["stopping"].max_new_tokens, gamma))
        return Generation((), (), 0.0)

    monkeypatch.setattr("estimator.runs.arms.decode", decoded)
    monkeypatch.setattr("estimator.runs.arms.decode_speculatively", decoded)
    sampling = Sampling(0.0)
    target, drafter = tiny_pair(sampling)
    subject = Subject(target, drafter, sampling, Stopping(30))
    run_arms(
        subject,
        PROMPTS,
        probing(subject, [1, 2]) | {f"gamma {g}": under(subject, Fixed(g)) for g in (2, 5)},
        repeats=2,
        seed=seed,
        progress=lambda: None,
    )
    # The baseline, the baseline again, two cost probes and two policies.
    arms = [None, None, 1, 2, 2, 5]
    assert [run[1:] for run in order[:6]] == [(WARM_UP_TOKENS, gamma) for gamma in arms]
    measured = [order[at : at + 6] for at in range(6, len(order), 6)]
    assert [runs[0][0] for runs in measured] == PROMPTS * 2
    for runs in measured:
        assert len({tuple(prompt) for prompt, _, _ in runs}) == 1
        assert {tokens for _, tokens, _ in runs} == {30}
        assert sorted(map(str, (gamma for _, _, gamma in runs))) == sorted(map(str, arms))
    assert len({tuple(str(gamma) for _, _, gamma in runs) for runs in measured}) > 1


def test_every_probing_text_keeps_one_draft_length() -> None:
    """So each of its blocks but the last, which the end cuts, follows one of its own shape."""
    sampling = Sampling(0.0)
    target, drafter = tiny_pair(sampling)
    subject = Subject(target, drafter, sampling, Stopping(14))
    runs = run_arms(
        subject,
        PROMPTS,
        probing(subject, [1, 3]) | {"gamma 2": under(subject, Fixed(2))},
        repeats=2,
        seed=0,
        progress=lambda: None,
    )
    texts = timed(runs)
    probed_texts = probes(texts)
    assert len(probed_texts) == 2 * len(PROMPTS)
    for row, text in enumerate(probed_texts):
        gamma = 1 if row < len(PROMPTS) else 3
        assert {block.gamma for block in text.blocks[:-2]} == {gamma}
        assert all(block.gamma <= gamma for block in text.blocks)
    count = len(PROMPTS)
    assert probes(without(texts, 0)) == [*probed_texts[1:count], *probed_texts[count + 1 :]]


@pytest.mark.parametrize(("enough_after", "repeats"), [(1, 1), (2, 2), (9, 3)])
def test_repeats_end_when_they_are_enough(enough_after: int, repeats: int) -> None:
    sampling = Sampling(0.0)
    target, drafter = tiny_pair(sampling)
    subject = Subject(target, drafter, sampling, Stopping(2))
    runs = run_arms(
        subject,
        PROMPTS,
        probing(subject, [1]),
        repeats=3,
        seed=0,
        progress=lambda: None,
        enough=lambda runs: len(runs[BASELINE][-1]) == enough_after,
    )
    assert {len(row) for rows in runs.values() for row in rows} == {repeats}


def test_a_lone_draft_length_is_probed_beside_none() -> None:
    assert probed([4]) == [0, 4]
    assert probed([0]) == [0]
    assert probed([8, 2, 8]) == [2, 8]
