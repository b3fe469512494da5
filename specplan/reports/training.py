"""Results of training and of analysing blockwise drafts, as tables."""

from collections.abc import Mapping
from typing import Any

from simulator.numerics.intervals import percent
from specplan.reports.table import Column, ranged, table
from studies.blockwise.records import Analysis, HeadEntropy, Way

MEASURES = ("alpha", "fallbacks", "rollbacks")


def aligned(result: dict[str, Any]) -> str:
    """Returns a table of a small model's acceptance before and after training."""
    equal = result["as_many_calls"]
    shown = {measure: result[measure] for measure in MEASURES} | {
        f"{measure} at {equal['fallback']:.3g}": equal[measure] for measure in MEASURES[1:]
    }
    columns = [
        Column[str]("on held-out prompts", str),
        *(_column(shown, when) for when in ("before", "after", "change")),
    ]
    return "\n".join(
        [
            table(shown, columns),
            "",
            "alpha: mean of sum min(p, q) along the large model's texts; fallbacks (large calls) "
            f"and rollbacks over BiLD's tokens, at fallback {result['fallback']:g}, and after at "
            f"{equal['fallback']:.3g}, where the",
            "large calls are as many as before;",
            f"{percent()} intervals over {result['held_out']} prompts. Trained on "
            f"{result['texts']} texts, {result['steps']} steps, loss {result['loss']}, "
            f"{result['seconds']:.0f} s since last resumed.",
            f"Wrote {result['output']}",
        ]
    )


def _column(shown: dict[str, Any], when: str) -> Column[str]:
    def cell(name: str) -> str:
        part = shown[name][when]
        return ranged(part["value"], part["low"], part["high"], ".3f")

    return Column(when, cell)


def report(result: Analysis) -> str:
    """Returns the tables of `specplan heads analyse`."""
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
    """Returns a table of each trained head's accuracy."""
    heads = enumerate(found["held_out_accuracy"], start=2)
    return (
        f"{found['output']}: {found['heads']} heads of {found['hidden']} hidden units, "
        f"{found['steps']} steps\n{table(heads, _TRAINED)}"
    )


def eagle3_trained(found: Mapping[str, Any]) -> str:
    """Returns the acceptance by position of a trained EAGLE-3 head's drafts, as text."""
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
