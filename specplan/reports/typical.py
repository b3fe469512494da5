"""Published accepted lengths as the text of `specplan plan --typical list`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from simulator.acceptance.typical import PublishedLengths, Typical, published_lengths
from specplan.reports.table import folded

# Fewer letters are no part of a name that somebody looks for.
LEAST_PART = 3


def listed(value: str) -> str | None:
    """Returns the text for `list` (all names) or for a part of names; None for anything else."""
    known, part = published_lengths(), "" if value == "list" else value.lower()
    found = [each for name, each in known.items() if part in name]
    if value in known or not found or len(value) < LEAST_PART:
        return None
    return typical_text(found)


def typical_text(known: Sequence[PublishedLengths]) -> str:
    """Returns names with alpha, workload and lengths, below each draft, its target and source."""
    width = max(len(each.name) for each in known)
    lines = [
        f"Tokens per target call at K, and the alpha that they follow from ({len(known)} names)."
    ]
    for (kind, draft, target, source, date), some in groupby(known, _pair):
        model = "" if draft == kind else f" {draft}"
        lines += ["", folded(f"{kind}{model} for {target} ({source}, {date})")]
        for each in some:
            lengths = ", ".join(f"{length:.2f} at {k}" for k, length in each.lengths.items())
            lines.append(f"  {each.name:{width}}  alpha {Typical(each.name).alpha:.2f}")
            lines += [
                f"    {line}"
                for line in folded(f"{each.workload} ({each.held.sampling}): {lengths}").split("\n")
            ]
    return "\n".join(lines)


def _pair(each: PublishedLengths) -> tuple[str, ...]:
    return each.kind, each.draft, each.target, each.source, each.date
