"""Runs that price what a profile reports: draft lengths, and batches, up to the longest."""

from collections.abc import Sequence

from estimator.profiles.profile import LoadCosts, milliseconds
from estimator.timing.arms import probed, probing, run_arms
from estimator.timing.precision import Timing
from estimator.timing.rates import Runs
from estimator.timing.under_load import LoadTimes
from reference.speculative import Subject
from simulator.choice.plan import DEFAULT_MAX_GAMMA


def measured_gammas(max_gamma: int) -> list[int]:
    """Returns the draft lengths that are timed: two an octave, and max_gamma."""
    octaves = [2**i for i in range(max_gamma.bit_length())]
    between = [3 * half for half in octaves if 3 * half <= max_gamma]
    return sorted({*octaves, *between, max_gamma})


def replayed_gamma(max_gamma: int) -> int:
    """Returns the longest draft that is replayed: that timed, or what a plan asks for if longer."""
    return max(max_gamma, DEFAULT_MAX_GAMMA)


def measure_costs(
    subject: Subject, prompts: Sequence[Sequence[int]], timing: Timing, *, max_gamma: int
) -> Runs:
    """Returns the interleaved baseline and probe runs over draft lengths up to max_gamma.

    Args:
      timing: how often each run is timed; once however long it takes.
    """
    probes = probing(measured_gammas(max_gamma))
    return run_arms(subject, prompts, probes, timing, least=len(prompts))


def timed_runs(prompts: Sequence[Sequence[int]], *, max_gamma: int, repeats: int) -> int:
    """Returns how often `measure_costs` calls progress, if all repeats are needed."""
    return len(prompts) * repeats * (2 + len(probed(measured_gammas(max_gamma))))


def load_costs(times: LoadTimes) -> LoadCosts:
    """Returns what passes over a batch cost."""
    longest = max(times.drafting)
    return LoadCosts(
        batch=times.batch,
        context=times.context,
        target_ms=milliseconds(times.target),
        draft_ms=1e3 * times.drafting[longest] / longest,
        drafting_ms=milliseconds(times.drafting),
        spread_percent=100 * times.spread,
    )
