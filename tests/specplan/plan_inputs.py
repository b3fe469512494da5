"""Inputs of tests of `specplan plan` and `tree`: a profile, a configuration, the run."""

import json
from importlib import import_module
from typing import Any
from unittest.mock import patch

import click
import numpy as np
from click.testing import CliRunner, Result

from estimator.profiles.parts import Alpha, DraftAcceptance, Estimate, Setup
from estimator.profiles.profile import Profile, TimesMs
from simulator.acceptance.replay import Replay
from simulator.acceptance.tokens import block_acceptance
from simulator.cost.curves import CostModel
from specplan.main import main
from specplan.reports.output import print_json

# Keys of a plan's JSON.
KEYS = {
    "alpha", "c", "c_hat", "optimal_gamma", "gamma", "expected_tokens",
    "improvement_factor", "improvement_factor_theorem8", "operations_factor",
    "memory_access_factor", "accepted_fraction", "tokens_per_second",
    "baseline_tokens_per_second", "oracle_improvement_factor", "lower_bound", "break_even_alpha",
    "break_even_c",
}  # fmt: skip
MS = "--target-ms 19 --draft-ms 1.6"

_RATES = {
    "sampled": np.random.default_rng(1).random(60) ** 0.5,
    "argmax": (np.random.default_rng(2).random(60) < 0.4).astype(float),
}
_RATIOS = np.random.default_rng(3).exponential(size=60)
JOINTLY = {
    gamma: tuple((Replay(block_acceptance(_RATIOS, 16)).blocks(gamma) / 60).tolist())
    for gamma in range(1, 17)
}
BLOCKS = {
    name: {gamma: tuple((Replay(rates).blocks(gamma) / 60).tolist()) for gamma in range(1, 17)}
    for name, rates in _RATES.items()
}
PROFILE = Profile(
    alpha=Alpha(0.62),
    draft_sampling="sampled",
    draftings={
        "sampled": DraftAcceptance(
            Alpha(0.62),
            BLOCKS["sampled"],
            blocks_jointly=JOINTLY,
            alpha_by_lenience={1.0: 0.62, 0.5: 0.8},
        ),
        "argmax": DraftAcceptance(Alpha(0.4), BLOCKS["argmax"]),
    },
    setup=Setup(target="big", draft="some/draft"),
    times=TimesMs(
        {1: 10.0, 3: 12.0},
        draft_ms=1.2,
        overhead_ms=0.3,
        baseline_overhead_ms=0.1,
        c=Estimate(0.12, 0.11, 0.13),
    ),
    c_hat=0.04,
    optimal_gamma=3,
)
# Options of PROFILE.
COSTS = CostModel(
    target_seconds={1: 0.010, 3: 0.012}, draft_seconds=0.0012, overhead_seconds=0.0003,
    baseline_overhead_seconds=0.0001,
)  # fmt: skip
LLAMA: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
    "vocab_size": 128256, "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip


def run(arguments: str, command: str = "plan") -> Result:
    """Returns what a command answers; its arguments are separated by blanks."""
    return CliRunner().invoke(main, [command, *arguments.split()])


def answered(*words: str) -> Any:
    """Returns the JSON object that a command prints; its numbers must be finite."""
    result = CliRunner().invoke(main, [*words, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout, parse_constant=_refuse)


def run_json(arguments: str, command: str = "plan") -> dict[str, Any]:
    """Returns the JSON object of a command that must succeed; its numbers must be finite."""
    loaded: dict[str, Any] = answered(command, *arguments.split())
    return loaded


def both(arguments: str, command: str = "plan") -> tuple[dict[str, Any], str]:
    """Returns the JSON object and the text of a command, which computes only once for both."""

    def answer(data: Any, text: Any, **_: Any) -> None:
        print_json(data())
        click.echo(f"\0{text()}")

    with patch.object(import_module(f"specplan.commands.{command}"), "answer", answer):
        result = run(arguments, command)
    assert result.exit_code == 0, result.output
    data, _, text = result.stdout.partition("\0")
    return json.loads(data, parse_constant=_refuse), text


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")
