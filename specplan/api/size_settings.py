"""Settings of `specplan size`, each declared once: name, type, default and help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.numerics.arguments import integer
from simulator.traffic.demand import LatencyTargets
from simulator.traffic.fleet import Goal
from specplan.api.settings import require_targets


@dataclass(frozen=True, kw_only=True)
class SizedLoad:
    """The load and its targets.

    rate: Requests per second of all replicas.
    prompt_tokens: Mean length of prompts, in tokens.
    output_tokens: Mean length of outputs, in tokens.
    length_spread: Standard deviation of both lengths over their means; 0: all are alike.
    trace: CSV of requests with time (s), prompt_tokens and output_tokens, in place of a rate and
      lengths. Counts the replicas that each hour needs, and what one fixed number wastes.
    targets: Latency targets, e.g. ttft=500,tpot=30 (milliseconds).
    share: Share of requests that must meet both targets.
    """

    rate: float | None = None
    prompt_tokens: float | None = None
    output_tokens: float | None = None
    length_spread: float = 0.0
    trace: Path | None = None
    targets: Mapping[str, float]
    share: float = 0.95


@dataclass(frozen=True, kw_only=True)
class SizedMachines:
    """The machines to choose from, and how each replica serves.

    dtypes: Number format of both models' weights, or several: bfloat16,fp8.  [default: each
      config's own]
    activations: Format of activations.  [default: 16 bits, or the config's]
    max_gamma: The largest gamma to consider.
    gpus: h100, or several: h100,h200,b200.
    gpus_per_replica: GPUs of a replica, or several numbers.
    dp: Groups of a replica's GPUs that hold all layers but experts, or several numbers.  [default:
      1; for mixtures also one for each GPU]
    ep: Parts into which a mixture's experts are divided, or several numbers.  [default: 1; with
      several groups one for each GPU]
    prices: Price of a GPU and an hour, e.g. h100=2.5,h200=3.4. The least money is searched then.
    max_gpus: Most GPUs of all replicas together.
    engine: The server. Public measurements of it give its times outside the models, and its limit
      of captured graphs.  [default: any, without a limit]
    slots: Largest number of sequences decoded together; smaller ones are tried, too.
    chunk_tokens: Prompt tokens read in one decoding step; 0: prompts are read in separate steps.
    cached_share: Share of each prompt's tokens that a prefix cache holds, from 0 to below 1.
    """

    gpus: Sequence[str]
    dtypes: Sequence[str | None] | None = None
    activations: str | None = None
    max_gamma: int = 32
    gpus_per_replica: Sequence[int] = (1, 2, 4, 8)
    dp: Sequence[int] | None = None
    ep: Sequence[int] | None = None
    prices: Mapping[str, float] | None = None
    max_gpus: int = 64
    engine: str | None = None
    slots: int = 256
    chunk_tokens: int = 2048
    cached_share: float = 0.0


@dataclass(frozen=True, kw_only=True)
class SizeSettings(SizedLoad, SizedMachines):
    """All settings of `specplan.size`.

    gamma: drafted tokens of each block; None: the best of 1 to `max_gamma`.
    check: whether the answer is simulated with all replicas.
    """

    gamma: int | None = None
    check: bool = True

    def __post_init__(self) -> None:
        for name in ("rate", "prompt_tokens", "output_tokens"):
            if (getattr(self, name) is None) == (self.trace is None):
                wrong = "cannot be combined with" if self.trace else "must be given, or"
                raise ValueError(f"`{name}` {wrong} `trace`")
        if self.trace is not None and self.length_spread != 0:
            raise ValueError("`length_spread` cannot be combined with `trace`")
        for name in ("slots", "max_gamma", "gpus_per_replica", "dp", "ep"):
            value = getattr(self, name) or ()
            for number in value if isinstance(value, Sequence) else (value,):
                integer(name, number, at_least=1)
        integer("chunk_tokens", self.chunk_tokens, at_least=0)
        require_targets(self.targets)

    def goal(self, rate: float) -> Goal:
        """Returns what is promised at a rate of requests per second."""
        return Goal(rate, LatencyTargets.of_ms(self.targets), self.share, self.max_gpus)
