"""Advice on public loads where accepted lengths are not given: what a user may know in their place.

A load is a server, its traffic and all K that were published of it. Every way below gives the law
of the speed-ups at those K, and the K that may be advised; None where it does not apply.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from published_rows import Row
from published_scores import predicted

from simulator.acceptance.accepted import Accepted
from simulator.acceptance.from_counts import FromCounts, from_counts
from simulator.acceptance.rate_prior import workload_spread
from simulator.acceptance.tokens import alpha_from_block_efficiency, expected_tokens
from simulator.acceptance.typical import DRAFT_CLASSES, PublishedLengths, published_lengths
from simulator.choice.advice import Advice, advise
from simulator.cost.fitted.fit import infer
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.prior import NOT_CALIBRATED, Prior
from simulator.numerics.intervals import Forecast

FIRST_GAMMA = 3
# An asserted acceptance rate is off by this.
OFF = 0.1
# From words of a dataset's name to the workloads that names of typical lengths have.
WORKLOADS = {"humaneval": "code", "code": "code", "coding": "code", "math": "math",
             "gsm8k": "math", "finance": "finance"}  # fmt: skip


@dataclass(frozen=True)
class Load:
    """One load: its rows by K, and the prior of its deployment without its source."""

    rows: dict[int, Row]
    prior: Prior

    @property
    def row(self) -> Row:
        """The first of the rows, for what all of them share."""
        return next(iter(self.rows.values()))

    @property
    def gammas(self) -> NDArray[np.int64]:
        return np.array(list(self.rows))

    @property
    def speeds(self) -> dict[int, float]:
        """Measured speed-ups by K, 1 at K = 0."""
        return {0: 1.0, **{gamma: row.speed_up for gamma, row in self.rows.items()}}

    @property
    def nearest(self) -> int:
        """The published K that is nearest to FIRST_GAMMA."""
        return int(self.gammas[np.abs(self.gammas - FIRST_GAMMA).argmin()])

    @property
    def chain(self) -> bool:
        """Whether its drafts are chains, whose lengths laws of acceptance describe."""
        return self.row.traits.draft != "EAGLE tree"

    @property
    def known(self) -> Sequence[Row]:
        return tuple(self.rows.values())

    @cached_property
    def given(self) -> Forecast:
        """The law of the speed-ups of all K, lengths given."""
        return self.law([row.run.length for row in self.known])

    def loss(self, gamma: int) -> float:
        return 1 - self.speeds[gamma] / max(self.speeds.values())

    def posterior(self, runs: Sequence[Row] = ()) -> Posterior:
        """Returns the deployment's cost after the runs with and without drafts of some rows."""
        pairs = dict.fromkeys(run for row in runs for run in (row.plain, row.run))
        return infer(self.row.machine, self.prior, list(pairs))

    def law(self, lengths: Sequence[float], posterior: Posterior | None = None) -> Forecast:
        """Returns the law of the speed-ups of all K at these tokens a block."""
        cost = self.posterior() if posterior is None else posterior
        return predicted(cost, self.row.run.load, list(self.rows), list(lengths))


def given(load: Load) -> Advice:
    """Advises with the published length of every K."""
    return _advise(load, load.given, load.gammas > 0)


def one_length(load: Load) -> Advice | None:
    """Advises with the length of the K nearest to FIRST_GAMMA, others by the law of the kind."""
    return _from_counts(load, _counted(load)) if load.chain else None


def typical_length(load: Load) -> Advice | None:
    """Advises with the typical lengths of another source: of this target and workload if any."""
    entry = _typical(load)
    if entry is None or not load.chain:
        return None
    counts = [Accepted(gamma, length) for gamma, length in entry.lengths.items()]
    kind = load.row.traits.draft
    return _from_counts(load, from_counts(counts, draft_class=kind, elsewhere=workload_spread()))


def stated_alpha(off: float) -> Callable[[Load], Advice | None]:
    """Returns the way that asserts the acceptance rate of the nearest K plus `off`."""

    def way(load: Load) -> Advice | None:
        if not load.chain:
            return None
        length = min(load.rows[load.nearest].run.length, load.nearest + 0.99)
        alpha = float(alpha_from_block_efficiency(length, load.nearest)) + off
        law = load.law(expected_tokens(np.clip(alpha, 0.0, 0.999), load.gammas))
        return _advise(load, law, load.gammas > 0)

    return way


def own_run(load: Load) -> Advice | None:
    """Advises after a baseline and a run of the nearest K at the load, its length known."""
    return _after_runs(load, (load.nearest,)) if load.chain else None


def kept_within(share: float) -> Callable[[Load], Advice | None]:
    """Returns own_run where a measured gain stays up to another estimate that is this faster."""

    def way(load: Load) -> Advice | None:
        if not load.chain:
            return None
        law, allowed = _law_after(load, (load.nearest,))
        ran = load.gammas[allowed] == load.nearest
        median, deviation = law.medians[ran], law.deviation[ran]
        if (median > deviation).all() and (law.medians <= median + np.log1p(share)).all():
            return advise(load.gammas[allowed][ran], law.only(ran), tried=(0, load.nearest))
        return advise(load.gammas[allowed], law)

    return way


def further_run(load: Load) -> Advice | None:
    """As own_run, and after the run that this advice proposes, if it was published."""
    found = own_run(load)
    if found is None or found.next_run is None or found.next_run.gamma not in load.rows:
        return found
    return _after_runs(load, (load.nearest, found.next_run.gamma))


# Shares by which another estimate may be faster before it replaces a measured gain.
MARGINS = (0.0, 0.01, 0.02, 0.03, 0.05)
WAYS: dict[str, Callable[[Load], Advice | None]] = {
    "lengths given": given,
    "length known at K = 3, or the nearest": one_length,
    "typical lengths of another source": typical_length,
    "alpha exact": stated_alpha(0.0),
    f"alpha {OFF:g} too high": stated_alpha(OFF),
    f"alpha {OFF:g} too low": stated_alpha(-OFF),
    "own runs of 0 and K = 3, or the nearest": own_run,
    **{f"own runs, the measured K unless another is {100 * share:g} % faster": kept_within(share)
       for share in MARGINS},
    "own runs, the measured K for good": kept_within(np.inf),
    "own runs, and the next run that they propose": further_run,
}  # fmt: skip


def _counted(load: Load) -> FromCounts:
    run = load.rows[load.nearest].run
    return from_counts([Accepted(run.gamma, run.length)], draft_class=load.row.traits.draft)


def _from_counts(load: Load, acceptance: FromCounts) -> Advice:
    """Advises as a plan with counted acceptance, up to the largest K that it allows."""
    lengths, doubt = acceptance.log_lengths(load.gammas)
    law = load.law(np.exp(lengths).tolist()).blurred(doubt)
    most = acceptance.most_gamma
    allowed = np.ones(len(load.gammas), dtype=bool) if most is None else load.gammas <= most
    return _advise(load, law, allowed)


def _after_runs(load: Load, ran: tuple[int, ...]) -> Advice:
    law, allowed = _law_after(load, ran)
    return advise(load.gammas[allowed], law, tried=(0, *ran))


def _law_after(load: Load, ran: tuple[int, ...]) -> tuple[Forecast, NDArray[np.bool_]]:
    """Returns the law after runs of the baseline and some K, and which K may be advised."""
    runs = [load.rows[gamma] for gamma in ran]
    counts = [Accepted(row.run.gamma, row.run.length) for row in runs]
    acceptance = from_counts(counts, draft_class=load.row.traits.draft)
    lengths, doubt = acceptance.log_lengths(load.gammas)
    # A run's own speed-up has no doubt of its length.
    known = np.isin(load.gammas, ran)
    lengths[known] = np.log([load.rows[gamma].run.length for gamma in load.gammas[known].tolist()])
    doubt[known, :] = doubt[:, known] = 0
    most = acceptance.most_gamma
    allowed = np.ones(len(load.gammas), dtype=bool) if most is None else load.gammas <= most
    law = load.law(np.exp(lengths).tolist(), load.posterior(runs))
    return law.blurred(doubt).only(allowed), allowed


def _advise(load: Load, law: Forecast, allowed: NDArray[np.bool_]) -> Advice:
    calibrated = load.row.traits.draft not in NOT_CALIBRATED
    return advise(load.gammas[allowed], law.only(allowed), calibrated=calibrated)


def _typical(load: Load) -> PublishedLengths | None:
    facts = load.row.facts
    workload = next(
        (w for word, w in WORKLOADS.items() if word in facts["dataset"].lower()), "chat"
    )
    others = [
        each
        for each in published_lengths().values()
        if each.source != facts["source"] and DRAFT_CLASSES[each.kind] == load.row.traits.draft
    ]

    def fit(each: PublishedLengths) -> tuple[bool, bool]:
        return each.target == facts["target"], workload in each.name.split("-")

    return max(others, key=fit, default=None)
