"""The order in which a validation's arms run."""

from typing import Any

import pytest
from pairs import PROMPTS, tiny_pair

from estimator.runs.arms import WARM_UP_TOKENS, Subject, run_arms
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
    run_arms(
        Subject(target, drafter, sampling, Stopping(30)),
        PROMPTS,
        {"gamma 2": Fixed(2), "gamma 5": Fixed(5)},
        probe_gammas=[1, 2],
        repeats=2,
        seed=seed,
        progress=lambda: None,
    )
    # The baseline, the baseline again, the cost probe and two policies.
    arms = [None, None, -1, 2, 5]
    assert [run[1:] for run in order[:5]] == [(WARM_UP_TOKENS, gamma) for gamma in arms]
    measured = [order[at : at + 5] for at in range(5, len(order), 5)]
    assert [runs[0][0] for runs in measured] == PROMPTS * 2
    for runs in measured:
        assert len({tuple(prompt) for prompt, _, _ in runs}) == 1
        assert {tokens for _, tokens, _ in runs} == {30}
        assert sorted(map(str, (gamma for _, _, gamma in runs))) == sorted(map(str, arms))
    assert len({tuple(str(gamma) for _, _, gamma in runs) for runs in measured}) > 1
