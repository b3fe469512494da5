"""Results of the studies of BiLD and of blockwise drafts as tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from estimator.timing.threads import Threads
from simulator.numerics.intervals import percent
from specplan.reports.table import MS, TOKENS, Column, folded, interval, ranged, shown, table
from specplan.reports.trust import noise_line
from specplan.reports.validation import shares
from studies.bild.swept import BildRow, Sweep, fewest_repeats, worst_precision
from studies.blockwise.records import Analysis, HeadEntropy, Way

_MEASURES = ("alpha", "fallbacks", "rollbacks")


def bild_text(sweeps: Sequence[Sweep], threads: Threads) -> str:
    """Returns a table of BiLD's speed and quality for each draft and temperature."""
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
    parts += map(folded, noise_line({"precision_percent": worst_precision(sweeps)}))
    return "\n\n".join(parts)


def _sweep_lines(sweep: Sweep) -> list[str]:
    """Returns the table of one draft at one temperature, and each decoder's fastest rows."""
    large, metric = sweep.large, sweep.metric

    def rollback(row: BildRow) -> str:
        is_bild = row.decoder in ("bild", "window")
        return "inf" if is_bild and row.rollback is None else shown(row.rollback, "g")

    def best(loss: float) -> str:
        """Returns each decoder's largest speed-up that loses at most `loss` points of quality."""
        parts = []
        for name in filter(sweep.of, ("bild", "window", "strict", "lenient")):
            row = sweep.fastest(name, loss=loss)
            parts.append(f"{name} " + ("none" if row is None else interval(row, "measured")))
        return ", ".join(parts)

    columns: list[Column[BildRow]] = [
        ("decoder", "{decoder}"),
        ("fallback", "{fallback:g}"),
        ("rollback", rollback),
        ("most", "{most}"),
        ("quality", f"{{quality[{metric}]:.2f}}"),
        (f"speed-up [{percent()}]", lambda row: interval(row, "measured")),
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


def aligned_text(result: dict[str, Any]) -> str:
    """Returns a table of a small model's acceptance before and after training."""
    equal = result["as_many_calls"]
    parts = {measure: result[measure] for measure in _MEASURES} | {
        f"{measure} at {equal['fallback']:.3g}": equal[measure] for measure in _MEASURES[1:]
    }
    whens = ("before", "after", "change")
    rows = []
    for name, part in parts.items():
        rows.append({"of": name, **{when: ranged(**part[when], form=".3f") for when in whens}})
    columns = [("on held-out prompts", "{of}"), *((when, f"{{{when}}}") for when in whens)]
    return (
        f"{table(rows, columns)}\n\n"
        "alpha: mean of sum min(p, q) along the large model's texts; fallbacks (large calls) and "
        f"rollbacks over BiLD's tokens, at fallback {result['fallback']:g}, and after at "
        f"{equal['fallback']:.3g}, where the\nlarge calls are as many as before;\n"
        f"{percent()} intervals over {result['held_out']} prompts. Trained on {result['texts']} "
        f"texts, {result['steps']} steps, loss {result['loss']}, {result['seconds']:.0f} s since "
        f"last resumed.\nWrote {result['output']}"
    )


def analysis_text(result: Analysis) -> str:
    """Returns tables of the block efficiency of each kind of draft and the entropy of each head."""
    weights = ", ".join(f"{name} {of.best_weight:g}" for name, of in result.tuning.items())
    variants: list[Column[Way]] = [
        ("draft", "{name}"),
        ("block efficiency", lambda way: _value(way.block_efficiency, way.low, way.high)),
        ("over base", _over_base),
        ("repeated", lambda way: _value(way.consecutive_percent, form=".1f", unit="%")),
        ("longest run", lambda way: _value(way.max_run, form=".2f")),
    ]
    entropy: list[Column[HeadEntropy]] = [
        ("head", "{head}"),
        ("entropy (nats)", "{mean:.2f}"),
        ("5% to 95%", "{p5:.2f} to {p95:.2f}"),
    ]
    return (
        f"{result.heads} heads, lattices of {result.k} tokens a head, {result.texts} texts of "
        f"{result.tokens} tokens; weights chosen on {result.tuning_texts} others: "
        f"{weights or 'none'}\n{table(result.variants, variants)}\n\n"
        f"{table(result.entropy, entropy)}\nh_max {result.h_max}"
    )


def trained_text(report: Mapping[str, Any]) -> str:
    """Returns a table of each trained head's accuracy, or acceptance by position for EAGLE-3."""
    eagle3 = "held_out_acceptance" in report
    what = "an EAGLE-3 head," if eagle3 else f"{report['heads']} heads of"
    at, header, first = ("position", "accepted", 1) if eagle3 else ("head", "right", 2)
    shares = report["held_out_acceptance" if eagle3 else "held_out_accuracy"]
    rows = [{"at": at, "share": share} for at, share in enumerate(shares, start=first)]
    return (
        f"{report['output']}: {what} {report['hidden']} hidden units, {report['steps']} steps\n"
        + table(rows, [(at, "{at}"), (f"{header} on held-out text", "{share:.1%}")])
    )


def _over_base(way: Way) -> str:
    if way.name == "base":
        return ""
    return _value(way.change_percent, way.change_low, way.change_high, "+.1f", "%")


def _value(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    form: str = ".3f",
    unit: str = "",
) -> str:
    between = "" if low is None or high is None else f" ({low:{form}} to {high:{form}})"
    return "" if value is None else f"{value:{form}}{unit}{between}"
