"""A tuning as text: its runs, the K to use, and how sure it is that this K is the fastest."""

from collections.abc import Sequence
from typing import Any

from engines.tuning.advised import Advised
from engines.tuning.tuned import Tuned, TunedRun
from simulator.choice.odds import gain_text, percentage
from simulator.numerics.intervals import percent
from specplan.reports.table import GAMMA, MS, Column, folded, interval, table


def sentence(tuned: Tuned) -> str:
    """Returns the advice for each number of simultaneous requests in words."""
    texts = [f"{_at(tuned, advised)}{_draft(advised)}." for advised in tuned.advised]
    if texts and (gamma := tuned.next_gamma) is not None:
        texts.insert(0, f"Run K = {gamma} next, and keep it if it is the fastest. Until then:")
    return " ".join(texts) if texts else "No run has finished."


def _at(tuned: Tuned, advised: Advised) -> str:
    return f"{advised.concurrency} at once: " if len(tuned.advised) > 1 else ""


def _draft(best: Advised) -> str:
    if not best.gamma:
        return "Do not speculate"
    low, high = best.improvement_factor_low, best.improvement_factor_high
    times = f"{best.improvement_factor:.2f} times the speed without speculation"
    named = f"K = {knobs(best)}"
    return (
        f"Draft {best.gamma} token{'s' * (best.gamma > 1)} per block ({named}): {times} "
        f"({percent()}: {low:.2f} to {high:.2f})"
    )


def sureness(tuned: Tuned) -> list[str]:
    """Returns sentences on the odds of a gain and against the next best K, and on K not run."""
    lines = []
    for best in tuned.advised:
        chance, against = best.gain_probability, _against(best, tuned.at(best.concurrency))
        gain = "" if chance is None else gain_text(chance)
        if gain or against:
            lines.append(_at(tuned, best) + " ".join(filter(None, [gain, against])))
        if unrun := _not_run(best, over=tuned.next_gamma is None):
            lines.append(_at(tuned, best) + " ".join(unrun))
    return lines


def _against(best: Advised, runs: Sequence[TunedRun]) -> str:
    """Returns the odds of the advised K against its closest rival above 0; "" without one."""
    rivals = {gamma: odds for gamma, odds in best.faster_than.items() if gamma > 0}
    if not rivals or best.gamma == 0:
        return ""
    rival = min(rivals, key=rivals.__getitem__)
    times = {run.gamma: run.ms_per_token for run in runs if run.ms_per_token is not None}
    known, share = best.gamma in times and rival in times, percentage(rivals[rival])
    compared = (
        f" ({times[best.gamma]:.2f} against {times[rival]:.2f} ms per token)" if known else ""
    )
    text = f"K = {best.gamma} is faster than K = {rival} with a probability of {share}{compared}."
    smaller = rivals[rival] < 0.5 and best.gamma < rival
    return text + " Within 1 % the smaller K is advised." * smaller


def _not_run(best: Advised, *, over: bool) -> list[str]:
    """Returns why each K next to the advised one, and any further K, was not run.

    over: whether no further run is worth its time.
    """
    lines = [
        f"K = {other.gamma} was not run: it is expected to give {other.improvement_factor:.2f} "
        f"times ({other.improvement_factor_low:.2f} to {other.improvement_factor_high:.2f}), and "
        f"is faster than K = {best.gamma} with a probability of "
        f"{percentage(other.faster_probability)}."
        for other in best.not_run
    ]
    if (run := best.declined) is not None:
        lines.append(
            f"No further run is worth its time: the next one, of K = {run.gamma}, would gain "
            f"{run.gain_percent:.2g} % of speed on average, less than --worth "
            f"({run.worth_percent:g} %)."
        )
    elif over:
        lines.append("No further run is worth its time.")
    return lines


def knobs(row: TunedRun | Advised) -> str:
    """Returns K, and the confidence below which drafts end."""
    return f"{row.gamma} p_min {row.p_min:g}" if row.p_min else str(row.gamma)


def _off(row: TunedRun) -> str:
    time, expected = row.ms_per_token, row.expected_ms_per_token
    return "-" if time is None or expected is None else f"{100 * (time / expected - 1):+.0f} %"


def tuned_text(tuned: Tuned, *, dry_run: bool) -> str:
    """Returns all runs, predicted and measured, and the advised settings as text."""
    if dry_run:
        return "\n\n".join((_planned(tuned), *tuned.notes, "Nothing ran."))
    columns: list[Column[TunedRun]] = [
        ("at once", "{concurrency}"),
        (GAMMA, knobs),
        (f"expected [{percent()}]", lambda run: interval(run, "expected_ms_per_token")),
        (MS, "{ms_per_token:.2f}"),
        ("above expected", _off),
        ("± %", "{error_percent:.1f}"),
        ("length", "{block_efficiency:.2f}"),
    ]
    parts = [table(tuned.rows, columns, note=lambda run: run.note)]
    parts.append("\n".join(map(folded, [sentence(tuned), *sureness(tuned)])))
    if any(run.p_min for run in tuned.rows) and not any(advice.p_min for advice in tuned.advised):
        parts.append("No p_min gains more than its error: drafts have a fixed length.")
    parts += [*map(folded, tuned.conflicts), *tuned.notes, tuned.flags]
    return "\n\n".join(filter(None, parts))


def _planned(tuned: Tuned) -> str:
    """Returns a table of the next runs with their predicted times and speed-ups."""
    best = {(advice.concurrency, advice.gamma): advice for advice in tuned.advised}
    rows = []
    for run in tuned.rows:
        if not run.measured and not run.note:
            best_here = best.get((run.concurrency, run.gamma))
            times = "-" if best_here is None else interval(best_here, "improvement_factor")
            odds = percentage(best_here.gain_probability if best_here else None)
            rows.append({"run": run, "times": times, "odds": odds})
    columns: list[Column[dict[str, Any]]] = [
        ("at once", "{run.concurrency}"),
        (GAMMA, "{run.gamma}"),
        (f"times the baseline [{percent()}]", "{times}"),
        ("odds of a gain", "{odds}"),
        (f"{MS} [{percent()}]", lambda cells: interval(cells["run"], "expected_ms_per_token")),
    ]
    return table(rows, columns)
