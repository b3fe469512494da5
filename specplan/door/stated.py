"""Acceptances and costs stated from Python: they make the records that the options fill."""

# ruff: noqa: N802 - named like the classes that they stand for

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specplan.options import kinds
from specplan.options.command import flags_of
from specplan.options.inputs import counts as accepted
from specplan.options.inputs import roofline, times
from specplan.options.inputs.counts import Published
from specplan.options.inputs.profile import ProfileAcceptance, ProfileFile
from specplan.options.inputs.times import OfRuns
from specplan.options.kinds import AcceptanceKind, Made, Server
from specplan.options.runs import parse_run
from specplan.reports.plan import Origin

if TYPE_CHECKING:
    from engines.observing.observation import Observation
    from estimator.profiles.profile import Profile
    from simulator.acceptance.accepted import Accepted
    from simulator.cost.fitted.runs import Run as _Run

__all__ = [
    "AcceptedFraction", "BlockEfficiency", "ByPosition", "Iid", "Ratio", "Recorded", "Roofline",
    "Run", "Runs", "Times", "Typical",
]  # fmt: skip


class ObservedCounts(AcceptanceKind):
    """Acceptance estimated from a server's counts together with counts of further runs."""

    def __init__(self, seen: Observation, others: Sequence[Accepted]) -> None:
        self._seen, self._others = seen, others

    def make(self, draft_kind: str | None, server: Server) -> Made:
        found = self._seen.acceptance(draft_kind, self._others)
        return (found,), Origin(counted=True, notes=found.contradictions)


def require_ranges(*records: Any) -> None:
    """Raises click.UsageError, with the option's name, if a value is outside its option's range."""
    for record in records:
        for each in fields(record):
            kind, value = each.metadata.get("settings", {}).get("type"), getattr(record, each.name)
            stated = isinstance(kind, click.Choice | click.IntRange | click.FloatRange)
            if stated and value is not None:
                try:
                    kind.convert(value, None, None)
                except click.BadParameter as error:
                    name = flags_of(each)[0]
                    raise click.UsageError(f"{name}: {error.message}") from None


def Iid(alpha: float) -> kinds.Alphas:
    """Returns acceptance with probability alpha, in [0, 1], independently at each position."""
    return kinds.Alphas((alpha,))


def ByPosition(rates: Sequence[float], *, conditional: bool = False) -> accepted.Positions:
    """Returns acceptance rates of positions 1, 2, ..., as servers print them.

    rates: for each position, the share of all drafts whose tokens up to it are accepted; must not
      rise with the position.
    conditional: whether rates are shares of the drafts whose earlier tokens are all accepted.
    """
    return accepted.Positions(tuple(rates), conditional)


def AcceptedFraction(
    fraction: float, gamma: int, *, drafted: float | None = None
) -> accepted.AcceptedFraction:
    """Returns an acceptance inferred from accepted over drafted tokens at one gamma.

    fraction: accepted over drafted tokens, in [0, 1]; servers call it acceptance rate.
    gamma: drafted tokens per block at which the fraction was counted, at least 1.
    drafted: number of drafted tokens that were counted; None: unknown.
    """
    return accepted.AcceptedFraction(accepted_fraction=(fraction, drafted), at_gamma=gamma)


def BlockEfficiency(tokens_per_call: float, gamma: int) -> accepted.BlockEfficiency:
    """Returns an acceptance inferred from tokens per target call (mean acceptance length)."""
    return accepted.BlockEfficiency(block_efficiency=tokens_per_call, at_gamma=gamma)


def Typical(name: str) -> Published:
    """Returns published accepted lengths, by a name that `specplan plan --typical list` prints."""
    return Published(typical=name)


def Recorded(profile: str | Path | Profile) -> ProfileAcceptance:
    """Returns the acceptance and the cost in a profile that `specplan measure` wrote."""
    return ProfileAcceptance(ProfileFile(Path(profile) if isinstance(profile, str) else profile))


def Run(
    gamma: int,
    *,
    tpot: float,
    length: float | None = None,
    rates: Sequence[float] = (),
    batch: int = 1,
    context: int | None = None,
    error: float | None = None,
) -> _Run:
    """Returns a measurement of a server, to plan with in `Runs`.

    gamma: drafted tokens per block; 0: without speculation.
    tpot: milliseconds between two tokens of one sequence.
    length: tokens per block, including the token that the target adds (mean acceptance length);
      None: computed from the acceptance given to `plan`.
    rates: acceptance by position as shares of all drafts, in place of length.
    batch: sequences decoded together.
    context: tokens in each sequence's cache; None: 1024.
    error: standard deviation of tpot in per cent; None: 2.
    """
    stated: dict[str, object] = {"gamma": gamma, "tpot": tpot, "length": length, "batch": batch}
    stated |= {"rates": "/".join(map(repr, rates)) or None, "context": context, "error": error}
    return parse_run(",".join(f"{key}={each}" for key, each in stated.items() if each is not None))


def Runs(runs: Sequence[_Run], *, batch: int | None = None) -> OfRuns:
    """Returns the cost of blocks and their accepted lengths from runs of one server.

    runs: runs with and without speculation; at one load, longer drafts must not make faster steps.
    batch: the batch to plan for, if runs have several; None: the runs' batches.
    """
    from simulator.cost.fitted.runs import require_consistent

    if not runs:
        raise ValueError("Runs must have at least one run, got none")
    require_consistent([run for run in runs if run.counted])
    return OfRuns(runs=tuple(runs), batch=None if batch is None else (batch,))


def Ratio(c: float) -> kinds.Ratios:
    """Returns the cost in Theorem 8 of Leviathan et al. 2023, where verification is free.

    c: time of a draft step over time of a target step.
    """
    return kinds.Ratios((c,))


def Times(
    target_ms: float,
    draft_ms: float,
    *,
    verify_ms: Mapping[int, float] | None = None,
    overhead_ms: float = 0.0,
) -> times.Times:
    """Returns the cost of blocks from times in milliseconds.

    target_ms: time of a target step, above 0.
    draft_ms: time of a draft step.
    verify_ms: times of target passes by number of tokens; None: always target_ms.
    overhead_ms: time of a block that is neither drafting nor verification.
    """
    points = tuple(f"{tokens}={ms}" for tokens, ms in (verify_ms or {}).items())
    try:
        return times.Times(
            target_ms=target_ms,
            draft_ms=draft_ms,
            verify_ms=times.verify_points(None, None, points),
            overhead_ms=overhead_ms,
        )
    except click.BadParameter as error:
        raise ValueError(f"verify_ms {error.message}") from None


def Roofline(
    target_config: str | Path,
    draft_config: str | Path,
    *,
    gpu: str,
    engine: str | None = None,
    batch: int = 1,
    context: int | None = None,
    tp: int = 1,
    dtype: str | None = None,
) -> roofline.Roofline:
    """Returns the cost of blocks on a GPU, from its roofline and public measurements.

    target_config, draft_config: config.json of both models, or their folders.
    gpu: h100, rtx 4070, l4, ...; an unknown name raises ValueError with the nearest names.
    engine: vllm, sglang, llama.cpp, ...; None: any, with wider intervals.
    batch: sequences decoded together.
    context: tokens in each sequence's cache; None: 1024.
    tp: GPUs that share each layer.
    dtype: number format of the weights; None: the format in each configuration.
    """
    return roofline.Roofline(
        target_config=Path(target_config),
        draft_config=Path(draft_config),
        gpu=gpu,
        engine_family=engine,
        batch=(batch,),
        context=None if context is None else (context,),
        tp=tp,
        dtype=dtype,
    )
