"""The readable result of `specplan align`: acceptance before and after."""

from typing import Any

from specplan.reports.table import Column, ranged, table

MEASURES = ("alpha", "fallbacks", "rollbacks")


def aligned(result: dict[str, Any]) -> str:
    """Returns what training changed, as a table."""
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
            f"95 % intervals over {result['held_out']} prompts. Trained on "
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
