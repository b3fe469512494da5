"""The times of an observed server as text and JSON, by batch, and the steps that they count."""

from collections.abc import Sequence
from typing import Any

from engines.kind import engine_kinds
from engines.observing.by_batch import AtBatch, by_batch, lines_of
from engines.observing.observation import Observation
from simulator.choice.plan import Plan
from simulator.cost.fitted.runs import Run
from specplan.reports.basis import observed_basis, observed_intervals
from specplan.reports.kept import running_text
from specplan.reports.plans import plan_json
from specplan.reports.table import MS, TOKENS, Column, table

# Rows of the table by batch, those with the most lines; JSON has all.
_BATCHES_SHOWN = 12


def times_json(observation: Observation) -> dict[str, Any]:
    """Returns JSON fields on the time of a token, at the usual batch and at each batch."""
    timed = observation.timed
    return {
        "ms_per_token": None if timed is None else 1e3 * timed.seconds_per_token,
        "batch": None if timed is None else timed.batch,
        "by_batch": [
            {
                "batch": batch.batch,
                "lines": batch.lines,
                "ms_per_token": batch.ms,
                "ms_per_token_error": batch.ms * batch.error,
                "tokens_per_second": batch.tokens_per_second,
                "length": batch.length,
            }
            for batch in by_batch(lines_of(timed))
        ],
    }


def observed_plan_json(plan: Plan, observation: Observation) -> dict[str, Any]:
    """Returns the JSON fields of a plan for an observed server: advice, evidence and what is exact.

    intervals: a sentence on times that are taken as exact; "" if intervals cover the times.
    """
    return {
        "sentence": running_text(plan, observation.gamma),
        "plan": plan_json(plan),
        "basis": observed_basis(observation.drafts, plan.cost),
        "intervals": observed_intervals(plan.cost, observation.gamma),
    }


def steps_lines(observation: Observation) -> list[str]:
    """Returns a sentence if only some steps drafted; [] if all did, or it is not known."""
    drafting = observation.drafting
    if drafting is None:
        return []
    return [
        f"Only {drafting} of {observation.drafts} steps drafted "
        f"({100 * drafting / observation.drafts:.0f} %), as a lookup's do: lengths and rates here "
        f"count all steps. {engine_kinds()[observation.kind].title} counts those that drafted, "
        f"which yield {1 + observation.accepted / drafting:.2f} tokens."
    ]


def times_lines(observation: Observation) -> list[str]:
    """Returns the time of a token, and a table by batch if the source has several."""
    timed, lines = observation.timed, list[str]()
    if timed is not None:
        token = timed.seconds_per_token
        batch = "" if timed.batch in (None, 1) else f" at batch {timed.batch}"
        lines.append(f"A token took {1e3 * token:.2f} ms{batch} ({1 / token:.1f} tokens/s).")
    batches = by_batch(lines_of(timed))
    if len(batches) > 1:
        lines += ["", _batches(batches), ""]
    if not observation.all_steps:
        lines.append(
            "The source counts the steps that drafted, and no tokens: a lookup, which does not "
            "draft at every step, yields fewer tokens per step."
        )
    return lines


def unknown_gamma(run: Run, observation: Observation) -> bool:
    """Returns whether a run's γ is unknown: drafts ended before it, and the source is silent."""
    return run.drafted is not None and observation.stated_gamma is None


def run_text(run: Run, observation: Observation) -> str:
    """Returns a `specplan plan` command with the observed run; the user adds further runs to it."""
    missing = ""
    if unknown_gamma(run, observation):
        missing = (
            "State --gamma, the server's K: drafts that end early do not show it. Nothing is "
            "planned.\n"
        )
    gamma = "G" if observation.stated_gamma is None else str(run.gamma)
    batch = "" if run.load.batch == 1 else f",batch={run.load.batch}"
    rates = "/".join(f"{rate:.4g}" for rate in run.rates)
    accepted = f"rates={rates}" if rates else f"length={run.length:.4g}"
    if run.drafted is not None:
        seen = observation
        accepted = f"accepted={seen.accepted}/{seen.drafted},tokens={seen.accepted + seen.drafts}"
    return missing + (
        f"With other runs: specplan plan --run gamma={gamma},"
        f"tpot={1e3 * run.seconds_per_token:.4g},{accepted}{batch} --run ..."
    )


def _batches(batches: Sequence[AtBatch]) -> str:
    usual = sorted(batches, key=lambda batch: batch.lines)[-_BATCHES_SHOWN:]
    columns: list[Column[AtBatch]] = [
        ("batch", "{batch}"),
        ("lines", "{lines}"),
        ("tokens/call", "{length:.2f}"),
        (MS, "{ms:.2f}"),
        (TOKENS, "{tokens_per_second:.1f}"),
    ]
    return table(sorted(usual, key=lambda batch: batch.batch), columns)
