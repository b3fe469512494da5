"""`plan --controller`: a server that chooses K, against fixed drafts that were run."""

import math
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner, Result

import specplan as sp
from simulator.choice.controlled import ControllerGain, pays_from
from specplan.main import main
from tests.specplan.plan_inputs import both

# Tokens per second of all sequences by concurrency: without speculation, at K = 7, with adaptive
# verification (DeepSeek-V4-Flash with DSpark on ROCm: vLLM, pull request 52362).
PUBLISHED = {
    4: (381.53, 970.33, 902.37),
    8: (729.20, 1762.59, 1616.77),
    16: (1342.83, 2909.52, 2773.69),
    32: (2392.99, 4756.32, 4501.11),
    64: (4094.75, 6712.35, 7144.12),
    128: (6340.78, 8778.87, 10356.48),
    256: (8878.57, 7852.42, 13324.67),
}
RUNS = [
    word
    for batch, (plain, fixed, _) in PUBLISHED.items()
    for word in (
        "--run", f"gamma=0,batch={batch},total_tps={plain}",
        "--run", f"gamma=7,batch={batch},total_tps={fixed},length=4",
    )
]  # fmt: skip
CHOSEN = [
    word
    for batch, (*_, adaptive) in PUBLISHED.items()
    for word in ("--controller", f"batch={batch},total_tps={adaptive}")
]


@cache
def plan(*words: str) -> Result:
    return CliRunner().invoke(main, ["plan", *words])


@cache
def compared() -> tuple[dict[str, Any], str]:
    """Returns the JSON object and the text of the plan of all runs."""
    return both(" ".join([*RUNS, *CHOSEN]))


def test_gains_over_a_fixed_k_are_the_ratios_of_the_measured_speeds() -> None:
    data = compared()[0]["controller"]
    assert [row["batch"] for row in data["over_one_k"]] == list(PUBLISHED)
    reach = math.exp(1.6449 * math.hypot(0.02, 0.02))
    for row, (_, fixed, adaptive) in zip(data["over_one_k"], PUBLISHED.values(), strict=True):
        ratio = adaptive / fixed
        assert (row["gamma"], row["measured"]) == (7, True)
        assert row["gain_percent"] == pytest.approx(100 * (ratio - 1))
        assert row["low"] == pytest.approx(100 * (ratio / reach - 1), abs=0.01)
        assert row["high"] == pytest.approx(100 * (ratio * reach - 1), abs=0.01)
    assert 32 < data["pays_from"]["one_k"] <= 64
    # A schedule may draft less where K = 7 loses.
    last = data["over_schedule"][-1]
    assert (last["batch"], last["measured"]) == (256, last["gamma"] == 0)
    assert last["gain_percent"] < data["over_one_k"][-1]["gain_percent"]


def test_the_sentence_names_where_it_pays_and_the_servers_flags() -> None:
    text = " ".join(compared()[1].split())
    assert "The server's controller pays from batch 45 on over K = 7, the best fixed K: " in text
    assert "+69.7 % (+62.0 to +77.8) at batch 256 and -8.3 % (-12.4 to -3.9) at batch 8." in text
    assert 'on vllm: "enable_adaptive_verification": true' in text
    assert "VLLM_ADAPTIVE_VERIFICATION_PROFILE_CONTEXT_LEN" in text
    assert "--speculative-adaptive" in text
    flags = plan(*RUNS, *CHOSEN, "--export", "vllm").stdout
    assert flags.startswith("# The server's controller pays from batch 45 on")
    assert '"num_speculative_tokens": 7' in flags  # measured, and gains at each captured batch
    assert "--speculative-adaptive" not in flags
    never = plan(*RUNS[:4], "--controller", "batch=4,total_tps=700").stdout
    assert "controller does not pay at batch 4 over K = 7" in " ".join(never.split())
    assert "Its flags" not in never


def test_python_says_the_same_of_a_controller() -> None:
    runs, chosen = [], []
    for batch, (plain, fixed, adaptive) in PUBLISHED.items():
        runs.append(sp.Run.of(0, batch=batch, tpot=1e3 * batch / plain))
        runs.append(sp.Run.of(7, batch=batch, tpot=1e3 * batch / fixed, length=4))
        chosen.append(sp.Run.of(0, batch=batch, tpot=1e3 * batch / adaptive))
    report = sp.plan(sp.Runs(runs)).against_controller(chosen)
    data, text = compared()
    assert report.json()["pays_from"] == data["controller"]["pays_from"]
    assert str(report) in text
    with pytest.raises(ValueError, match="`controller` needs costs of a server"):
        sp.plan(sp.Iid(0.8), sp.Ratio(0.05)).against_controller(chosen)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--alpha", "0.8", "--c", "0.1", "--controller", "batch=1,tpot=4"),
         "--controller needs costs of a server: --run, or a --gpu"),
        ((*RUNS, "--controller", "gamma=3,batch=4,tpot=4"),
         "gamma must not be given where the server chooses K"),
        ((*RUNS, "--controller", "batch=4"), "one of tpot, tps, total_tps must be given"),
        ((*RUNS[:8], "--controller", "batch=4,tpot=4", "--controller", "batch=8,tpot=4,context=99"),
         "runs must have one context, got [99, 1024]"),
    ],
)  # fmt: skip
def test_runs_without_a_comparison_are_refused(words: tuple[str, ...], message: str) -> None:
    refused = plan(*words)
    assert (refused.exit_code, refused.stdout) == (2, ""), refused.output
    assert message in refused.stderr


def test_the_batch_from_which_it_pays_lies_between_a_loss_and_a_gain() -> None:
    def gain(batch: int, ratio: float) -> ControllerGain:
        return ControllerGain(batch, 3, ratio, ratio, ratio, True)

    # Equal loss and gain: halfway on the logarithm of the batch.
    assert pays_from([gain(4, 1 / 1.1), gain(16, 1.1)]) == 8
    assert pays_from([gain(4, 1.1), gain(16, 1.2)]) == 4
    assert pays_from([gain(4, 1.1), gain(16, 0.9)]) is None
    assert pays_from([gain(1, 1.1), gain(2, 0.8), gain(32, 1.01)]) == 29  # 2 · 16^0.957
