"""What a pair gains on each kind of prompt: by category, and by the length of the context."""

from collections.abc import Sequence

from estimator.intervals import ratio_interval
from estimator.profiles.alphas import accepted_by_position, measured_alpha
from estimator.profiles.drafting import Estimate
from estimator.profiles.profile import Workload
from estimator.profiles.speed_ups import speed_ups
from estimator.runs.rates import Timed, of_prompts
from estimator.traces.traces import Trace, replayed_calls


def by_category(categories: Sequence[str | None]) -> dict[str, list[int]]:
    """Returns the indices of the prompts of each category, in the order they come in.

    Args:
      categories: of each prompt; those of None are in none.
    """
    found: dict[str, list[int]] = {}
    for prompt, category in enumerate(categories):
        if category is not None:
            found.setdefault(category, []).append(prompt)
    return found


def by_context(lengths: Sequence[int]) -> dict[str, list[int]]:
    """Returns the indices of the prompts of each octave of lengths, ascending: "64-127", ….

    Args:
      lengths: of each prompt, in tokens, at least 1: the context that its text begins with.
    """
    found: dict[int, list[int]] = {}
    for prompt, length in enumerate(lengths):
        found.setdefault(length.bit_length(), []).append(prompt)
    return {f"{2 ** (bits - 1)}-{2**bits - 1}": found[bits] for bits in sorted(found)}


def workload(
    traces: Sequence[Trace],
    texts: Timed,
    prompts: Sequence[int],
    *,
    gammas: Sequence[int],
    replayed: int,
) -> Workload:
    """Returns what some of the prompts gave, each number with its interval over them.

    Args:
      prompts: indices of those meant, at least one.
      gammas: at least 1 each, ascending.
      replayed: the longest draft that the traces tell of.
    """
    chosen = [traces[prompt] for prompt in prompts]
    gained = speed_ups(chosen, of_prompts(texts, prompts), gammas)
    return Workload(
        alpha=measured_alpha(chosen),
        tokens_per_call={gamma: _tokens_per_call(chosen, gamma) for gamma in gammas},
        improvement_factor={
            gamma: Estimate(factor, *interval)
            for gamma, (factor, interval) in gained.by_gamma().items()
        },
        optimal_gamma=gained.best,
        accepted_by_position=accepted_by_position(chosen, replayed),
    )


def _tokens_per_call(traces: Sequence[Trace], gamma: int) -> Estimate:
    tokens = [float(trace.tokens) for trace in traces]
    calls = [replayed_calls(trace, gamma) for trace in traces]
    return Estimate(sum(tokens) / sum(calls), *ratio_interval(tokens, calls))
