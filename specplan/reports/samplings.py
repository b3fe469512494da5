"""A profile's two ways of drafting, sampled and argmax: the advised K and gain of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engines.kind import engine_kinds, listed

if TYPE_CHECKING:
    from estimator.traces.traces import DraftSampling
    from simulator.choice.plan import Plan


def samplings_json(plan: Plan, other: Plan, sampling: DraftSampling) -> dict[str, Any]:
    """Returns the advised γ and its speed-up for each way of drafting.

    sampling: the way of drafting in `plan`; `other` has the other way.
    """
    return {
        way: {"advised_gamma": each.advised_gamma, "improvement_factor": advised_gain(each)}
        for way, each in ((sampling, plan), (other_way(sampling), other))
    }


def other_way(way: DraftSampling) -> DraftSampling:
    return "argmax" if way == "sampled" else "sampled"


def drawn_by(way: DraftSampling) -> str:
    """Returns a way of drafting as text, with the servers whose default it is."""
    servers = [
        name
        for name, kind in engine_kinds().items()
        if kind.exports is not None and kind.exports.draft_sampling == way
    ]
    drafts = "Argmax drafts" if way == "argmax" else "Sampled drafts"
    return f"{drafts}, as by default in {listed(servers)} (--draft-sampling {way})"


def other_line(other: Plan, way: DraftSampling) -> str:
    """Returns a line with the advised K and speed-up of the other way of drafting."""
    gamma, gain = other.advised_gamma, advised_gain(other)
    found = f"K = {gamma}, {gain:.2f} times" if gamma > 0 else "do not speculate"
    return f"{drawn_by(way)}: {found}."


def advised_gain(plan: Plan) -> float:
    """Returns the speed-up at the advised γ; 1 if no speculation is advised."""
    gamma = plan.advised_gamma
    return float(plan.curve.improvement_factor[gamma - 1]) if gamma > 0 else 1.0
