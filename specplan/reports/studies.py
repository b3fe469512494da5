"""Results of the studies of BiLD and of blockwise drafts as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simulator.numerics.intervals import percent
from specplan.reports.table import MS, TOKENS, Column, folded, interval, ranged, shown, table
from specplan.reports.validation import precision_lines, shares

if TYPE_CHECKING:
    from estimator.timing.threads import Threads
    from studies.bild.swept import BildRow, Sweep
    from studies.blockwise.records import Analysis, HeadEntropy, Way

_MEASURES = ("alpha", "fallbacks", "rollbacks")


def bild_text(sweeps: Sequence[Sweep], threads: Threads) -> str:
    """Returns a table of BiLD's speed and quality for each draft and temperature."""
    from studies.bild.swept import fewest_repeats, worst_precision

    parts = ["\n".join(_sweep_lines(sweep)) for sweep in sweeps]
    parts += [
        f"In doubt: {row.decoder}: {'; '.join(row.doubts)}."
        for sweep in sweeps
        for row in sweep.rows
        if row.doubts
    ]
    parts.append(
        "Speed-ups are of decoding, per token, over the large model without a draft; "
        f"{sweeps[0].prompts} prompts, the median of {fewest_repeats(sweeps)} timings, by "
        f"{threads.sentence} "
        "BiLD is lossy: it changes the large model's output distribution."
    )
    parts += map(folded, precision_lines(worst_precision(sweeps)))
    return "\n\n".join(parts)


def _sweep_lines(sweep: Sweep) -> list[str]:
    """Returns the table of one draft at one temperature, and each decoder's fastest rows."""
    large, metric = sweep.large, sweep.metric

    def rollback(row: BildRow) -> str:
        is_bild = row.decoder in ("bild", "window")
        return "inf" if is_bild and row.rollback is None else shown(row.rollback, "g")

    def best(loss: float) -> str:
        """Returns each decoder's largest speed-up that loses at most `loss` points of quality."""
        tried = [name for name in ("bild", "window", "strict", "lenient") if sweep.of(name)]
        fastest = ((name, sweep.fastest(name, loss=loss)) for name in tried)
        return ", ".join(
            f"{name} {'none' if row is None else _speed_up(row)}" for name, row in fastest
        )

    columns: list[Column[BildRow]] = [
        ("decoder", "{decoder}"),
        ("fallback", "{fallback:g}"),
        ("rollback", rollback),
        ("most", "{most}"),
        ("quality", f"{{quality[{metric}]:.2f}}"),
        (f"speed-up [{percent()}]", _speed_up),
        ("predicted", "{predicted:.2f}"),
        ("error", "{error_percent:+.1f} %"),
        (MS, "{ms_per_token:.2f}"),
        (TOKENS, "{tokens_per_second:.1f}"),
        ("fallback %", "{fallback_percent:.1f}"),
        ("rollback %", "{rollback_percent:.1f}"),
        ("discarded", "{discarded}"),
        ("small/large/other", shares),
    ]
    marks = table(
        sweep.rows, columns, note=lambda row: "!" if row.doubts else "<- front" * row.pareto
    )
    lines = [
        f"{large.draft}, temperature {large.temperature:g}; quality: {metric}, per cent; "
        f"c = {sweep.c:.3f}",
        marks,
        "",
        f"At most 0.1 points lost: {best(0.1)}.",
        f"At most 1 point lost: {best(1.0)}.",
    ]
    error, bild, window = (
        sweep.mean_error("time_error_percent", *names)
        for names in (("bild", "window"), ("bild",), ("window",))
    )
    if error is not None:
        apart = "" if window is None else f" (bild {bild:.1f}, window {window:.1f})"
        lines.append(
            f"Predicted latency: {error:.1f} % off on average{apart}; "
            f"the baseline against itself: {sweep.noise_percent:.1f} %."
        )
    return lines


def _speed_up(row: BildRow) -> str:
    return interval(row, "measured")


def aligned_text(result: dict[str, Any]) -> str:
    """Returns a table of a small model's acceptance before and after training."""
    equal = result["as_many_calls"]
    parts = {measure: result[measure] for measure in _MEASURES} | {
        f"{measure} at {equal['fallback']:.3g}": equal[measure] for measure in _MEASURES[1:]
    }
    whens = ("before", "after", "change")
    rows = [
        {"of": name, **{when: _part(each[when]) for when in whens}} for name, each in parts.items()
    ]
    return "\n".join(
        [
            table(
                rows, [("on held-out prompts", "{of}"), *((when, f"{{{when}}}") for when in whens)]
            ),
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


def _part(found: Mapping[str, float]) -> str:
    return ranged(found["value"], found["low"], found["high"], ".3f")


def analysis_text(result: Analysis) -> str:
    """Returns tables of the block efficiency of each kind of draft and the entropy of each head."""
    weights = ", ".join(f"{name} {of.best_weight:g}" for name, of in result.tuning.items())
    variants: list[Column[Way]] = [
        ("draft", "{name}"),
        ("block efficiency", lambda way: _value(way.block_efficiency, way.low, way.high)),
        ("over base", _over_base),
        ("repeated", lambda way: _or_empty(way.consecutive_percent, ".1f", "%")),
        ("longest run", lambda way: _or_empty(way.max_run, ".2f")),
    ]
    entropy: list[Column[HeadEntropy]] = [
        ("head", "{head}"),
        ("entropy (nats)", "{mean:.2f}"),
        ("5% to 95%", "{p5:.2f} to {p95:.2f}"),
    ]
    lines = [
        f"{result.heads} heads, lattices of {result.k} tokens a head, {result.texts} "
        f"texts of {result.tokens} tokens; weights chosen on {result.tuning_texts} others: "
        f"{weights or 'none'}",
        table(result.variants, variants),
        "",
        table(result.entropy, entropy),
        f"h_max {result.h_max}",
    ]
    return "\n".join(lines)


def trained_text(found: Mapping[str, Any]) -> str:
    """Returns a table of each trained head's accuracy, or acceptance by position for EAGLE-3."""
    eagle3 = "held_out_acceptance" in found
    what = "an EAGLE-3 head," if eagle3 else f"{found['heads']} heads of"
    at, header, first = ("position", "accepted", 1) if eagle3 else ("head", "right", 2)
    shares = found["held_out_acceptance" if eagle3 else "held_out_accuracy"]
    rows = [{"at": at, "share": share} for at, share in enumerate(shares, start=first)]
    return (
        f"{found['output']}: {what} {found['hidden']} hidden units, {found['steps']} steps\n"
        + table(rows, [(at, "{at}"), (f"{header} on held-out text", "{share:.1%}")])
    )


def _or_empty(value: float | None, form: str, unit: str = "") -> str:
    return "" if value is None else shown(value, form, unit)


def _over_base(way: Way) -> str:
    if way.name == "base":
        return ""
    return _value(way.change_percent, way.change_low, way.change_high, "+.1f", "%")


def _value(
    value: float, low: float | None, high: float | None, form: str = ".3f", unit: str = ""
) -> str:
    if low is None or high is None:
        return f"{value:{form}}{unit}"
    return f"{value:{form}}{unit} ({low:{form}} to {high:{form}})"
