"""Searches the threshold (p_min) below which an unsure draft ends, once γ is settled."""

from collections.abc import Sequence
from math import exp, hypot, log

from msgspec.structs import replace

from engines.tuning.bench import Bench
from engines.tuning.tuned import Advised, Tuned, TunedRun
from simulator.numerics.intervals import deviations

# Thresholds that `--p-min auto` tries; runs end once their times are this exact.
AUTO, EXACT = (0.3, 0.5), 0.01


def with_thresholds(bench: Bench, tuned: Tuned, advised: Advised, first_turn: int) -> Tuned:
    """Returns a tuning with runs of each threshold at the advised γ, and at twice that γ.

    They take turns with the advised γ without a threshold. A threshold needs a γ that gains.
    """
    at, gamma = advised.concurrency, advised.gamma
    ran = {(row.gamma, row.p_min) for row in tuned.rows if row.concurrency == at}
    longer = min(2 * gamma, bench.how.max_gamma)
    wanted = [
        (each, p_min)
        for each in dict.fromkeys((gamma, longer))
        for p_min in bench.how.p_mins
        if (each, p_min) not in ran
    ]
    if gamma == 0 or not wanted:
        return tuned
    names = [(gamma, 0.0), *wanted]

    def joined(found: Sequence[TunedRun]) -> Tuned:
        reference, *stopped = found
        # The turns without a threshold are added to the first run of that γ.
        rows = [
            replace(row, turns=row.turns + reference.turns)
            if (row.concurrency, row.gamma, row.p_min) == (at, gamma, 0.0)
            else row
            for row in tuned.rows
        ]
        own = replace(tuned, rows=tuple(rows))
        for row in stopped:
            own = own.adding(row)
        return own

    def exact(found: Sequence[TunedRun]) -> bool:
        errors = [
            row.error_percent or 0.0
            for row in joined(found).rows
            if row.concurrency == at and (row.gamma, row.p_min) in names
        ]
        return max(errors) <= 100 * EXACT

    gammas, p_mins = zip(*names, strict=True)
    return joined(bench.measure(gammas, (at,), first_turn, exact, p_mins=p_mins))


def with_threshold(tuned: Tuned, advised: Advised) -> Advised:
    """Returns the advice with the fastest threshold, if that gains more than its error."""
    at = advised.concurrency
    plain = {row.gamma: row for row in tuned.at(at)}.get(advised.gamma)
    timed = [
        row
        for row in tuned.rows
        if row.concurrency == at and row.p_min > 0 and row.measured and row.ms_per_token is not None
    ]
    if plain is None or plain.ms_per_token is None or not timed:
        return advised
    best = min(timed, key=lambda row: row.ms_per_token or 0.0)
    assert best.ms_per_token is not None  # `timed` has no others
    gain = log(plain.ms_per_token / best.ms_per_token)
    error = deviations() * hypot(best.error_percent or 0.0, plain.error_percent or 0.0) / 100
    if gain <= error:
        return advised
    return replace(
        advised,
        gamma=best.gamma,
        p_min=best.p_min,
        improvement_factor=advised.improvement_factor * exp(gain),
        improvement_factor_low=advised.improvement_factor_low * exp(gain - error),
        improvement_factor_high=advised.improvement_factor_high * exp(gain + error),
        ms_per_token=best.ms_per_token,
    )
