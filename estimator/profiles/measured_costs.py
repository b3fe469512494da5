"""Runs that price what a profile reports: draft lengths, and batches, up to the longest."""

from collections.abc import Callable, Sequence

from estimator.profiles.profile import LoadCosts, milliseconds
from estimator.runs.arms import Patience, Runs, Subject, probed, probing, run_arms
from estimator.runs.under_load import load_times
from reference.models.cached_model import CachedModel
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
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    *,
    max_gamma: int,
    repeats: int,
    seed: int,
    progress: Callable[[], object],
    until: Patience | None = None,
) -> Runs:
    """Returns the interleaved baseline and probe runs over draft lengths up to max_gamma.

    Args:
      repeats: how often each run is timed, at most; once however long it takes.
    """
    return run_arms(
        subject,
        prompts,
        probing(measured_gammas(max_gamma)),
        repeats=repeats,
        seed=seed,
        progress=progress,
        until=until,
        least=len(prompts),
    )


def timed_runs(prompts: Sequence[Sequence[int]], *, max_gamma: int, repeats: int) -> int:
    """Returns how often `measure_costs` calls progress, if all repeats are needed."""
    return len(prompts) * repeats * (2 + len(probed(measured_gammas(max_gamma))))


def load_costs(
    target: CachedModel,
    draft: CachedModel,
    *,
    batch: int,
    context: int,
    max_gamma: int,
    repeats: int,
    progress: Callable[[], object],
) -> LoadCosts:
    """Returns what passes over a batch cost, at the draft lengths that a profile times.

    Args and progress as `estimator.runs.under_load.load_times`.
    """
    gammas = measured_gammas(max_gamma)
    times = load_times(
        target, draft, batch=batch, context=context, gammas=gammas, repeats=repeats,
        progress=progress,
    )   # fmt: skip
    longest = max(gammas)
    return LoadCosts(
        batch=batch,
        context=context,
        target_ms=milliseconds(times.target),
        draft_ms=1e3 * times.drafting[longest] / longest,
        drafting_ms=milliseconds(times.drafting),
        spread_percent=100 * times.spread,
    )
