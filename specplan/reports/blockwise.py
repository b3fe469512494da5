"""The analyses of blockwise drafts as tables for people."""

from collections.abc import Mapping
from typing import Any

from specplan.reports.table import Column, table
from studies.blockwise.records import Analysis, HeadEntropy, Way


def report(result: Analysis) -> str:
    """Returns what `specplan heads analyse` prints."""
    weights = ", ".join(f"{name} {of.best_weight:g}" for name, of in result.tuning.items())
    lines = [
        f"{result.heads} heads, lattices of {result.k} tokens a head, {result.texts} "
        f"texts of {result.tokens} tokens; weights chosen on {result.tuning_texts} others: "
        f"{weights or 'none'}",
        table(result.variants, _VARIANTS),
        "",
        table(result.entropy, _ENTROPY),
        f"h_max {result.h_max}",
    ]
    return "\n".join(lines)


def trained(found: Mapping[str, Any]) -> str:
    """Returns how often each trained head is right."""
    heads = enumerate(found["held_out_accuracy"], start=2)
    return (
        f"{found['output']}: {found['heads']} heads of {found['hidden']} hidden units, "
        f"{found['steps']} steps\n{table(heads, _TRAINED)}"
    )


def eagle3_trained(found: Mapping[str, Any]) -> str:
    """Returns what the drafts of a trained EAGLE-3 head would accept, by position."""
    rates = enumerate(found["held_out_acceptance"], start=1)
    return (
        f"{found['output']}: an EAGLE-3 head, {found['hidden']} hidden units, "
        f"{found['steps']} steps\n{table(rates, _EAGLE3_TRAINED)}"
    )


def _value(
    value: float, low: float | None, high: float | None, form: str = ".3f", unit: str = ""
) -> str:
    if low is None or high is None:
        return f"{value:{form}}{unit}"
    return f"{value:{form}}{unit} ({low:{form}} to {high:{form}})"


def _over_base(way: Way) -> str:
    if way.name == "base":
        return ""
    return _value(way.change_percent, way.change_low, way.change_high, "+.1f", "%")


def _repeated(way: Way) -> str:
    return "" if way.consecutive_percent is None else f"{way.consecutive_percent:.1f}%"


_VARIANTS = [
    Column[Way]("draft", lambda way: way.name),
    Column[Way]("block efficiency", lambda way: _value(way.block_efficiency, way.low, way.high)),
    Column[Way]("over base", _over_base),
    Column[Way]("repeated", _repeated),
    Column[Way]("longest run", lambda way: "" if way.max_run is None else f"{way.max_run:.2f}"),
]
_ENTROPY = [
    Column[HeadEntropy]("head", lambda of: str(of.head)),
    Column[HeadEntropy]("entropy (nats)", lambda of: f"{of.mean:.2f}"),
    Column[HeadEntropy]("5% to 95%", lambda of: f"{of.p5:.2f} to {of.p95:.2f}"),
]
_EAGLE3_TRAINED = [
    Column[tuple[int, float]]("position", lambda row: str(row[0])),
    Column[tuple[int, float]]("accepted on held-out text", lambda row: f"{row[1]:.1%}"),
]
_TRAINED = [
    Column[tuple[int, float]]("head", lambda row: str(row[0])),
    Column[tuple[int, float]]("right on held-out text", lambda row: f"{row[1]:.1%}"),
]
