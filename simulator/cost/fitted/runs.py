"""Runs: measurements of a server, and checks against physics."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from simulator.cost.setting import DEFAULT_CONTEXT
from simulator.numerics.arguments import integer
from simulator.numerics.intervals import deviations

if TYPE_CHECKING:
    from simulator.cost.zero import SpeculatingZero

# No server's time per token lies outside this range: most likely the unit is wrong.
FASTEST_SECONDS, SLOWEST_SECONDS = 2e-5, 2.0
# Relative standard deviation of a token's time between two starts of one server.
USUAL_ERROR = 0.02


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """A load of a server: tokens in each sequence's cache, and sequences decoded together."""

    context: int
    batch: int = 1

    def __post_init__(self) -> None:
        integer("context", self.context)
        integer("batch", self.batch, at_least=1)


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement of a deployment; fields are None or empty if they are not known.

    seconds_per_token: mean time between two tokens of one sequence.
    gamma: drafted tokens per block; 0 without speculation.
    length: mean tokens emitted per block, the target's own included, in [1, γ + 1]; 1 without
      speculation. NaN if not counted: an acceptance then predicts it.
    error: relative standard deviation of seconds_per_token, at least 0.
    rates: share of all blocks that accepted the token at each position from 1 to γ.
    drafts: number of counted blocks.
    draft_share: number of weights of the draft divided by the number of weights of the target.
    drafted: mean drafted tokens per block if drafts ended early; None if blocks drafted γ tokens.
    speculating: at γ = 0, whether the server was started with a draft and drafted nothing.
    length_error: relative standard deviation of length that sampled texts cause, a part of `error`;
      0 if all runs decode the same texts, as at temperature 0.
    """

    load: LoadPoint
    seconds_per_token: float
    gamma: int = 0
    length: float = 1.0
    error: float = 0.0
    rates: tuple[float, ...] = ()
    drafts: float | None = None
    model: str | None = None
    draft_share: float | None = None
    drafted: float | None = None
    speculating: bool = False
    length_error: float = 0.0

    def __post_init__(self) -> None:
        seconds = self.seconds_per_token
        if not 0 < seconds < math.inf:
            raise ValueError(f"tpot must be above 0 ms, got {1e3 * seconds:g}")
        if not FASTEST_SECONDS <= seconds <= SLOWEST_SECONDS:
            raise ValueError(
                f"tpot must lie in [{1e3 * FASTEST_SECONDS:g}, {1e3 * SLOWEST_SECONDS:g}] "
                f"milliseconds a token (is its unit right?), got {1e3 * seconds:g}"
            )
        if not 0 <= self.error < 1:
            raise ValueError(f"error must lie in [0, 100) %, got {100 * self.error:g}")
        if not 0 <= self.length_error <= self.error:
            raise ValueError(
                f"length_error must lie in [0, error = {self.error:g}], got {self.length_error:g}"
            )
        if self.gamma != 0:
            integer("gamma", self.gamma, at_least=1)
            if self.speculating:
                raise ValueError(
                    "speculating must be given at gamma 0 (a server that has a draft and "
                    f"drafts nothing), got gamma {self.gamma}"
                )
        longest = self.gamma + 1
        if self.counted and not 1 <= self.length <= longest:
            raise ValueError(
                f"length must lie in [1, {longest}], gamma + 1, at gamma {self.gamma}, "
                f"got {self.length:g}"
            )

    @classmethod
    def of(
        cls,
        gamma: int,
        *,
        tpot: float,
        length: float | None = None,
        rates: Sequence[float] = (),
        batch: int = 1,
        context: int = DEFAULT_CONTEXT,
        error: float = 100 * USUAL_ERROR,
    ) -> "Run":
        """Returns the run with a time in milliseconds; without length or rates it is not counted.

        gamma: drafted tokens per block; 0: without speculation.
        tpot: milliseconds between two tokens of one sequence.
        length: tokens per block, including the token that the target adds.
        rates: acceptance by position as shares of all drafts, in place of length.
        error: relative standard deviation of tpot in per cent.
        """
        load, seconds = LoadPoint(context, batch), tpot / 1e3
        if gamma == 0:
            if length is not None or rates:
                raise ValueError("length and rates must not be given at gamma 0")
            return cls(load, seconds, error=error / 100)
        if rates:
            length = 1 + sum(rates)
        counted = math.nan if length is None else length
        return cls(load, seconds, gamma, counted, error / 100, tuple(rates))

    @property
    def mean_drafted(self) -> float:
        return float(self.gamma) if self.drafted is None else self.drafted

    @property
    def counted(self) -> bool:
        """Whether the length is known."""
        return not math.isnan(self.length)

    @property
    def step_error(self) -> float:
        """Relative standard deviation of step_seconds."""
        return math.sqrt(self.error**2 - self.length_error**2)

    @property
    def step_seconds(self) -> float:
        """Time of one block, or of one baseline step (without speculation)."""
        return self.seconds_per_token * self.length


def pooled(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Returns one run for each load and γ: the geometric mean of its n runs.

    The error of the mean is one run's error divided by √n. If the runs differ by more than their
    errors, their standard deviation replaces one run's error.
    """
    settings = defaultdict(list)
    for run in runs:
        settings[run.load, run.gamma, run.drafted is None, run.speculating].append(run)
    return tuple(_mean(alike) if len(alike) > 1 else alike[0] for alike in settings.values())


def _mean(runs: Sequence[Run]) -> Run:
    logs = [math.log(run.seconds_per_token) for run in runs]
    return replace(
        runs[0],
        seconds_per_token=math.exp(fmean(logs)),
        length=fmean(run.length for run in runs),
        error=max(stdev(logs), fmean(run.error for run in runs)) / math.sqrt(len(runs)),
        length_error=fmean(run.length_error for run in runs) / math.sqrt(len(runs)),
        drafted=None if runs[0].drafted is None else fmean(run.mean_drafted for run in runs),
    )


def impossible(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Returns the pooled runs whose speed-up exceeds their tokens per block by more than errors.

    A block would then take less time than a step without drafts: the runs differ in something else.
    Baselines that differ count together, with their scatter, and the fastest one also by itself.
    runs: as they were made, not pooled.
    """
    means = pooled(runs)
    bases = [run for run in (*means, *_fastest(runs)) if run.gamma == 0]

    def exceeds(run: Run, base: Run) -> bool:
        noise = deviations() * math.hypot(base.error, run.error)
        return math.log(base.seconds_per_token / run.step_seconds) > noise

    return tuple(
        run
        for run in means
        if run.gamma > 0 and any(exceeds(run, base) for base in bases if base.load == run.load)
    )


def _fastest(runs: Sequence[Run]) -> list[Run]:
    """Returns the fastest run without speculation of each load."""
    slowest_first = sorted(runs, key=lambda run: -run.seconds_per_token)
    return list({run.load: run for run in slowest_first if run.gamma == 0}.values())


def require_consistent(runs: Sequence[Run]) -> None:
    """Raises ValueError unless all runs have a length and are of one model."""
    for run in runs:
        if not run.counted:
            length = "length (tokens per call, such as length=2.4), rates or accepted"
            raise ValueError(f"{length} must be given with gamma {run.gamma}")
    models = sorted({run.model for run in runs if run.model is not None})
    if len(models) > 1:
        raise ValueError(f"runs must be of one model, got {' and '.join(models)}")


def log_gains(runs: Sequence[Run]) -> dict[int, tuple[float, float]]:
    """Returns the measured log speed-up of each γ at one load, and its standard deviation.

    Runs with drafts that ended early are left out, because they belong to no single γ.
    """
    means = {run.gamma: run for run in pooled(runs) if run.drafted is None}
    plain = means.get(0)
    if plain is None:
        return {}
    return {
        gamma: (
            math.log(plain.seconds_per_token / run.seconds_per_token),
            math.hypot(plain.error, run.error),
        )
        for gamma, run in means.items()
        if gamma > 0
    }


def measured_zero(runs: Sequence[Run], batch: int) -> "SpeculatingZero | None":
    """Returns the ratio of two runs without drafts, at the measured batch size nearest to `batch`.

    None if no load was run with K = 0 on both kinds of server.
    """
    from simulator.cost.zero import SpeculatingZero

    zeros = {}
    means = {(run.load, run.speculating): run for run in pooled(runs) if run.gamma == 0}
    for (load, speculating), run in means.items():
        plain = means.get((load, False))
        if speculating and plain is not None:
            zeros[load.batch] = (run, plain)
    if not zeros:
        return None
    nearest = min(zeros, key=lambda measured: abs(math.log(measured / batch)))
    run, plain = zeros[nearest]
    log = math.log(run.seconds_per_token / plain.seconds_per_token)
    half = deviations() * math.hypot(run.error, plain.error)
    low, high = math.exp(log - half), math.exp(log + half)
    return SpeculatingZero(math.exp(log), low, high, f"your runs at batch {nearest}")
